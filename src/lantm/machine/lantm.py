"""`LantmConfig` and `Lantm`: the Lie access neural Turing machine as a model from symbols to symbols."""

import dataclasses
from typing import Any, Literal, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, PyTree

from lantm.batch import Batch
from lantm.devices import on_cpu
from lantm.errors import check_at_least_one
from lantm.geometry import make_geometry
from lantm.machine.access import Access
from lantm.machine.backend import Backend
from lantm.machine.controller import CellKind, LstmController
from lantm.machine.layer import LieAccess, Part, forgetting
from lantm.machine.linear import Linear
from lantm.machine.memory import Policy, Window, compact, visible
from lantm.machine.model import Config, Model, ModelName, Output, Trace
from lantm.machine.older_records import LANTM_CONSTANTS, with_weighting_options
from lantm.machine.state import Carried, Machinery, Schedule
from lantm.machine.step_sums import Noise, look_up
from lantm.machine.weighting import make_weighting
from lantm.records import drop_retired

_PARTS: tuple[Part, ...] = get_args(Part)
# The layer takes geometry and weighting as objects, not as names.
_NOT_OF_THE_LAYER = ("embedding", "geometry", "weighting")


@dataclasses.dataclass(frozen=True)
class LantmConfig(Config):
    """Settings of a Lie access machine. The defaults are the paper's for copy; docs/machine.md explains each switch."""

    weighting: str = "invnorm"
    """How distances become read weights: invnorm or softmax, with options as in invnorm[power=2], or module:Name."""
    geometry: str = "translation"
    """The key space and its group: a name listed by `lantm info` (docs/geometries.md), or module:Name."""
    cells: int = 50
    """Number of cells of the LSTM controller."""
    embedding: int = 7
    """Size of the symbol embedding."""
    memory_width: int = 20
    """Size of a memory vector."""
    read_heads: int = 1
    """Number of read heads."""
    write_heads: int = 1
    """Number of write heads; each appends one memory per input step."""
    read_sees_write: bool = False
    """Whether a step's read sees what the same step wrote; by default the read comes first."""
    settle_reads: bool = False
    """Snap a read head to a memory that it is close to after reading, so that small step errors do not accumulate."""
    cell_bound: float | None = None
    """Clip the controller's cells to +- this, so that they cannot count."""
    controller_overshoot: float = 0.0
    """Overshoot of the controller's gates (see gate_overshoot), so that a cell can be kept exactly."""
    settle_cells: float = 0.0
    """Move each cell by up to this much per step towards the nearest of -bound, 0 and +bound, which undoes leaks."""
    write_end: bool = False
    """Write in the first step after the input too, so that the memory contains the end of the input."""
    initial_slot: bool = True
    """Start with one learnable memory instead of an empty one."""
    squash_vectors: Literal["tanh", "sigmoid"] = "tanh"
    """Activation that bounds memory vectors."""
    normalise_steps: bool = True
    """The paper's second tweak: normalise candidate steps to length about 1."""
    initial_step: float | None = None
    """Length of the initial steps, in random directions; by default their components are uniform in +-1."""
    write_gate_bias: float = -10.0
    """The paper's first tweak: bias of the write heads' gates, so that write heads initially move in straight lines."""
    tied_read_heads: int = 0
    """Number of read heads initialised to the write head's key, step and key gate bias."""
    gate_overshoot: float = 0.0
    """Overshoot of the heads' gates: stretch the sigmoid by this much at both ends and clip it to 0 and 1."""
    interpolate_actions: bool = True
    """Interpolate between the candidate action and the previous one; otherwise use the candidate alone."""
    interpolate_read_actions: bool = True
    """Interpolate the actions of read heads too; the paper suspects that their gate is unnecessary."""
    memory_limit: int | None = None
    """Maximum number of memories (100 for texts); when it is reached, the oldest are dropped, for the whole batch."""
    memory_drop: int = 60
    """Number of oldest memories to drop when the limit is reached."""
    weight_range: float | None = None
    """Initialise weights uniformly in +- this; by default +-1/sqrt(inputs), and a normally distributed embedding."""
    weight_range_of: tuple[Part, ...] = _PARTS
    """The parts that weight_range applies to; the others keep the default initialisation."""
    forget_bias: float | None = None
    """Initial bias of the forget gates; by default initialised like the other weights."""
    state_range: float = 1.0
    """Initialise the learnable initial state (hidden state, cell, reading, keys) uniformly in +- this."""

    def __post_init__(self) -> None:
        check_at_least_one(self, "cells", "embedding", "memory_width")
        self.access, self.policy, self.cell  # noqa: B018 building them validates the settings

    @staticmethod
    def upgrade(values: dict[str, Any]) -> dict[str, Any]:
        """Converts the fields of a record written by an older version.

        >>> LantmConfig.upgrade({"weighting": "invnorm", "power": 2.0, "squash_keys": False, "cells": 50})
        {'weighting': 'invnorm[power=2.0]', 'cells': 50}
        """
        return with_weighting_options(drop_retired(values, LANTM_CONSTANTS, "machine"))

    @property
    def model_name(self) -> ModelName:
        """`lantm-invnorm` or `lantm-softmax`; `lantm` for a custom weighting."""
        weighting = self.weighting.partition("[")[0]
        return "lantm-invnorm" if weighting == "invnorm" else "lantm-softmax" if weighting == "softmax" else "lantm"

    @property
    def access(self) -> Access:
        """The addressing of the heads."""
        names = [field.name for field in dataclasses.fields(Access) if field.name not in _NOT_OF_THE_LAYER]
        switches = {name: getattr(self, name) for name in names}
        return Access(make_geometry(self.geometry), make_weighting(self.weighting), **switches)

    @property
    def cell(self) -> CellKind:
        """The kind of the controller's cells."""
        return CellKind(self.cell_bound, self.controller_overshoot, self.settle_cells)

    @property
    def policy(self) -> Policy:
        """The policy for a full memory."""
        return forgetting(self.memory_limit, self.memory_drop)

    def build(self, vocabulary: int, key: PRNGKeyArray) -> "Lantm":
        """A machine with initial weights."""
        return Lantm(self, vocabulary, key)


class Lantm(Model):
    """The Lie access machine from symbols to symbols: embedding, layer and readout."""

    config: LantmConfig = eqx.field(static=True)
    embedding: Float[Array, "vocabulary embedding"]
    layer: LieAccess
    readout: Linear

    def __init__(self, config: LantmConfig, vocabulary: int, key: PRNGKeyArray):
        keys = jax.random.split(key, 5)  # the layer uses the other keys
        ranges = {part: config.weight_range if part in config.weight_range_of else None for part in _PARTS}
        self.config = config
        self.embedding = jax.random.normal(keys[0], (vocabulary, config.embedding))
        if (bound := ranges["embedding"]) is not None:
            self.embedding = jax.random.uniform(keys[0], self.embedding.shape, minval=-bound, maxval=bound)
        access = config.access
        switches = {name: value for name, value in vars(config).items() if name not in _NOT_OF_THE_LAYER}
        self.layer = LieAccess(
            config.embedding, geometry=access.geometry, weighting=access.weighting, key=key, **switches
        )
        self.readout = Linear(config.cells, vocabulary, keys[3], ranges["output"])

    @property
    def parts(self) -> dict[str, PyTree]:
        """The parameters by part."""
        controller = self.layer.controller
        assert isinstance(controller, LstmController)
        return {
            "embedding": self.embedding,
            "symbols": controller.inputs,
            "recurrent": controller.recurrent,
            "heads": self.layer.heads,
            "readout": self.readout,
            "start": (controller.start, self.layer.start),
        }

    def begin(self, batch_size: int, slots: int) -> Carried:
        """The learnable initial state for a batch, with memory for at most `slots` steps of writing."""
        return self.layer.begin_batch(batch_size, slots + self.layer.write_end)

    def run(
        self,
        inputs: Int[Array, "time batch"],
        schedule: Schedule,
        carried: Carried,
        backend: Backend = "auto",
        noise: Noise | None = None,
    ) -> tuple[Float[Array, "time batch cells"], Carried]:
        """The controller's output at every step, and the carried state, with the memory compacted."""
        outputs, path = self.layer.run_given(self._given(inputs, schedule, backend), schedule, carried, backend, noise)
        return outputs, Carried(path.state, *compact(path.memory, path.window))

    def _given(
        self, inputs: Int[Array, "time batch"], schedule: Schedule, backend: Backend
    ) -> Float[Array, "time batch four_cells"]:
        """The contribution of the inputs to the controller's preactivations."""
        controller = self.layer.controller
        assert isinstance(controller, LstmController)
        # Pays off if most symbols occur more than once. The backend "scan" must be twice differentiable.
        if on_cpu() and self.embedding.shape[0] < inputs.size and backend != "scan":
            return look_up(controller.inputs(self.embedding), inputs, schedule.steps)
        return controller.inputs(self.embedding[inputs])

    def trace(self, batch: Batch, read_weights: bool = False, backend: Backend = "auto") -> Output:
        """The answer and the trace of the heads; read weights only on request, since they grow with time^2."""
        access = self.layer.access
        carried = self.begin(batch.inputs.shape[1], batch.write_capacity)
        schedule = Schedule(batch.steps, batch.writes, batch.turn)
        outputs, path = self.layer.run_batch(self.embedding[batch.inputs], schedule, carried, backend)
        schedule = self.layer.writing(schedule)
        understood = access.understand(path.emissions)
        ended = path.states.position
        times = jnp.arange(batch.inputs.shape[0])
        machinery = Machinery(access, self.layer.policy)
        windows = machinery.seen(carried.window, times, schedule)
        limit = machinery.limit(carried.window, schedule)

        def among(window: Window) -> Bool[Array, "batch slots"]:
            return visible(path.memory.strengths.shape[1], window, limit)

        keys, settled_on = ended.keys, None
        if access.settle_reads:  # heads read at the key their step leads to, from where the last step ended
            first = jax.tree.map(
                lambda before, ends: jnp.concatenate([before[None], ends[:-1]]), carried.state.position, ended
            )
            keys = access.move(understood, first).keys
            left = machinery.left(carried.window, times, schedule)
            # One step at a time: all distances at once would take time * slots numbers.
            settled_on = jax.lax.map(
                lambda step: access.settled_on(step[0], path.memory, among(step[1])),
                (keys[:, :, : access.read_heads], left),
            )
        weights = None
        if read_weights:

            def weigh(keys: Array, temperatures: Array | None, window: Window) -> Array:
                return access.weights(keys[:, : access.read_heads], temperatures, path.memory, among(window))

            weights = jax.vmap(weigh)(keys, understood.temperatures, windows)
        trace = Trace(
            keys=keys,
            actions=ended.actions,
            key_gates=understood.key_gates,
            action_gates=understood.action_gates,
            strengths=understood.strengths,
            temperatures=understood.temperatures,
            readings=path.states.reading,
            memory=path.memory,
            writes=schedule.writes,
            windows=windows,
            read_weights=weights,
            settled_on=settled_on,
        )
        return Output(self.readout(outputs), trace)

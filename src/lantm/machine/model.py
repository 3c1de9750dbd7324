"""`Model`, the base class of all models: symbols in, logits out at every step; also `Config`, `Trace` and `Output`."""

import abc
import dataclasses
from typing import Any, Literal, NamedTuple

import equinox as eqx
import jax
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from lantm.batch import Batch
from lantm.errors import LantmError
from lantm.machine.backend import Backend
from lantm.machine.linear import Linear
from lantm.machine.loops import in_step
from lantm.machine.memory import Memory, Window
from lantm.machine.state import Schedule
from lantm.machine.step_sums import Noise

ModelName = Literal[
    "lantm-invnorm", "lantm-softmax", "lantm", "lstm", "ram", "ram-tape", "ntm", "tape-rnn", "transformer"
]
"""The names of all models; `lantm` is a Lie access machine with a custom weighting."""


class Trace(NamedTuple):
    """What the heads of a Lie access machine did; read heads come before write heads."""

    keys: Float[Array, "time batch heads key"]  # where they read and wrote, before settling
    actions: Float[Array, "time batch heads action"]
    key_gates: Float[Array, "time batch heads"]
    action_gates: Float[Array, "time batch heads"]
    strengths: Float[Array, "time batch write_heads"]
    temperatures: Float[Array, "time batch read_heads"] | None
    readings: Float[Array, "time batch reading"]
    memory: Memory
    writes: Int[Array, " batch"]  # the number of steps that wrote to a problem's memory
    windows: Window  # the slots visible to each reading
    read_weights: Float[Array, "time batch read_heads slots"] | None  # on request: time * slots numbers
    settled_on: Int[Array, "time batch read_heads"] | None  # slots, -1 for none; only for machines that settle


class Output(NamedTuple):
    """Logits, and the trace of the heads (None for a model without heads in a key space)."""

    logits: Float[Array, "time batch vocabulary"]
    trace: Trace | None


MOST_LAYERS = 256
"""The largest number of layers of a stack: each is compiled, and the time before the first epoch grows with it."""


@dataclasses.dataclass(frozen=True)
class Config(abc.ABC):
    """Sizes and switches of a model; each field is a flag and a JSON key."""

    @property
    @abc.abstractmethod
    def model_name(self) -> ModelName:
        """The name of the model."""

    @abc.abstractmethod
    def build(self, vocabulary: int, key: PRNGKeyArray) -> "Model":
        """A model with initial weights."""

    def kept_per_step(self, steps: int, learning: bool) -> int:
        """Numbers per step that a run keeps in memory, besides the outputs of the model's matrices."""
        return 0


class Model(eqx.Module):
    """A model that reads symbols and answers with symbols.

    `begin`, `run` and `readout` are for continuous use: a text is run piece by piece, with the state returned by `run`
    passed on to the next. Calling the model on a batch of problems combines all three.
    """

    config: eqx.AbstractVar[Any]
    readout: eqx.AbstractVar[Linear]

    @property
    def learns_start(self) -> bool:
        """Whether the initial state is trained."""
        return True

    @abc.abstractmethod
    def begin(self, batch_size: int, slots: int) -> PyTree:
        """The initial state: controller, heads, and a memory with room for `slots` writes."""

    @abc.abstractmethod
    def run(
        self,
        inputs: Int[Array, "time batch"],
        schedule: Schedule,
        carried: PyTree,
        backend: Backend = "auto",
        noise: Noise | None = None,
    ) -> tuple[Float[Array, "time batch cells"], PyTree]:
        """The controller's output at every step, and the final state."""

    @abc.abstractmethod
    def trace(self, batch: Batch, read_weights: bool = False, backend: Backend = "auto") -> Output:
        """The answer with its trace, computed by the code used in training."""

    def features(
        self, batch: Batch, backend: Backend = "auto", noise: Noise | None = None
    ) -> Float[Array, "time batch cells"]:
        """The controller's output at every step of a batch of problems."""
        carried = self.begin(batch.inputs.shape[1], batch.write_capacity)
        schedule = Schedule(batch.steps, batch.writes, batch.turn)
        schedule = Schedule(in_step(schedule.steps), schedule.writes, in_step(schedule.turn))
        return self.run(batch.inputs, schedule, carried, backend, noise)[0]

    def __call__(self, batch: Batch) -> Output:
        return Output(self.readout(self.features(batch)), None)


def refuse_kernels_and_noise(name: ModelName, backend: Backend, noise: Noise | None) -> None:
    """Raises a `LantmError` if kernels or noise are requested from a model that supports neither."""
    if backend == "kernel":
        raise LantmError(f"{name} has no kernels: use the backend 'auto' or 'loops'")
    if noise is not None:
        raise LantmError(f"{name} does not support noise: leave out noise")


def parameter_count(model: Model) -> int:
    """The number of trained parameters."""
    trained = model if model.learns_start else eqx.tree_at(lambda model: model.start, model, None)
    return sum(leaf.size for leaf in jax.tree.leaves(trained))

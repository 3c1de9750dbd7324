"""The base class of peers with a memory: an LSTM controller that sees the symbol and the last reading.

The controller and the readout are those of the Lie access machine, so these models differ from it, and from each other,
only in the memory: how it is addressed and what is written.
"""

import abc
import dataclasses
from typing import Any, Literal, NamedTuple, final

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree, Shaped

from lantm.batch import Batch
from lantm.errors import check_at_least_one
from lantm.machine.backend import Backend
from lantm.machine.controller import CellState, lstm_cell
from lantm.machine.linear import Linear, lstm_matrices
from lantm.machine.model import Config, Model, Output, refuse_kernels_and_noise
from lantm.machine.peers.stepping import State, Step, run_steps
from lantm.machine.state import Schedule
from lantm.machine.step_sums import Noise


class Weights(NamedTuple):
    """The trained matrices used inside the loop."""

    recurrent: Float[Array, "reading_and_cells four_cells"]
    heads: Linear


@dataclasses.dataclass(frozen=True)
class MemoryConfig(Config, Step):
    """Sizes that these models share; the defaults are those of the authors' second paper."""

    cells: int = 50
    """Number of cells of the LSTM controller."""
    embedding: int = 14
    """Size of the symbol embedding."""
    memory_width: int = 20
    """Size of a memory vector."""
    forget_bias: float | None = 1.0
    """Initial bias of the forget gates; by default initialised like the other weights."""

    def __post_init__(self) -> None:
        check_at_least_one(self, "cells", "embedding", "memory_width")

    # Defined by each memory.

    @property
    @abc.abstractmethod
    def emission(self) -> int:
        """The size of the emission: what the controller outputs for the heads in a step."""

    @abc.abstractmethod
    def empty(self, batch_size: int, slots: int) -> tuple[PyTree, PyTree]:
        """The initial memory and log (see `State`), for problems with up to `slots` input steps."""

    @abc.abstractmethod
    def access(
        self,
        emitted: Float[Array, "batch emission"],
        memory: PyTree,
        log: PyTree,
        at: Int[Array, ""],
        writes: Int[Array, " batch"],
    ) -> tuple[Float[Array, "batch width"], PyTree, PyTree]:
        """The reading of step `at`, the memory after it, and the row that it appends to the log."""

    # Shared.

    @final
    def kept_per_step(self, steps: int, learning: bool) -> int:
        """A row of the log; for the backward pass also the memory before every step. Half of the steps are input."""
        memory, log = jax.eval_shape(lambda: self.empty(1, steps // 2 + 1))
        rows: int = sum(leaf.size // leaf.shape[1] for leaf in jax.tree.leaves(log))
        saved: int = sum(leaf.size for leaf in jax.tree.leaves(memory))
        return rows + saved if learning else rows

    @final
    def step(
        self,
        weights: Weights,
        row: Float[Array, "batch four_cells"],
        state: State,
        at: Int[Array, ""],
        writes: Int[Array, " batch"],
    ) -> tuple[State, PyTree]:
        """A step of the controller and the memory access."""
        seen = jnp.concatenate([state.reading, state.controller.hidden], axis=-1)
        controller, _ = lstm_cell(row + seen @ weights.recurrent, state.controller.cell)
        emitted = weights.heads(controller.hidden)
        reading, memory, entry = self.access(emitted, state.memory, state.log, at, writes)
        return State(controller, reading, memory, state.log), entry

    @final
    def build(self, vocabulary: int, key: PRNGKeyArray) -> "MemoryModel":
        """A model with initial weights."""
        return MemoryModel(self, vocabulary, key)


class MemoryModel(Model):
    """Embedding, controller, memory heads and readout."""

    config: MemoryConfig = eqx.field(static=True)
    embedding: Float[Array, "vocabulary embedding"]
    inputs: Linear
    recurrent: Float[Array, "reading_and_cells four_cells"]
    heads: Linear
    readout: Linear
    start: dict[str, Float[Array, " size"]]

    def __init__(self, config: MemoryConfig, vocabulary: int, key: PRNGKeyArray):
        embedding_key, controller_key, heads_key, readout_key = jax.random.split(key, 4)
        cells, width = config.cells, config.memory_width
        self.config = config
        self.embedding = jax.random.normal(embedding_key, (vocabulary, config.embedding))
        self.inputs, self.recurrent = lstm_matrices(
            config.embedding, width + cells, cells, controller_key, None, config.forget_bias
        )
        self.heads = Linear(cells, config.emission, heads_key)
        self.readout = Linear(cells, vocabulary, readout_key)
        self.start = {"hidden": jnp.zeros(cells), "cell": jnp.zeros(cells), "reading": jnp.zeros(width)}

    @property
    def parts(self) -> dict[str, Any]:
        """The parameters by part."""
        return {
            "embedding": self.embedding,
            "symbols": self.inputs,
            "recurrent": self.recurrent,
            "heads": self.heads,
            "readout": self.readout,
            "start": self.start,
        }

    def begin(self, batch_size: int, slots: int) -> State:
        """The learnable initial state, and an empty memory."""
        hidden, cell, reading = (
            jnp.broadcast_to(self.start[name], (batch_size, self.start[name].size))
            for name in ("hidden", "cell", "reading")
        )
        return State(CellState(hidden, cell), reading, *self.config.empty(batch_size, slots))

    def run(
        self,
        inputs: Int[Array, "time batch"],
        schedule: Schedule,
        carried: State,
        backend: Backend = "auto",
        noise: Noise | None = None,
    ) -> tuple[Float[Array, "time batch cells"], State]:
        """The controller's output at every step, and the state after the last."""
        refuse_kernels_and_noise(self.config.model_name, backend, noise)
        weights = Weights(self.recurrent, self.heads)
        rows = self.inputs(self.embedding[inputs])
        return run_steps(self.config, weights, rows, carried, schedule.writes, schedule.steps)

    def trace(self, batch: Batch, read_weights: bool = False, backend: Backend = "auto") -> Output:
        """The answer, without a trace."""
        return Output(self.readout(self.features(batch, backend)), None)


def split(emitted: Float[Array, "batch emission"], *sizes: int) -> list[Array]:
    """The emission split into parts of these sizes."""
    ends = [sum(sizes[: at + 1]) for at in range(len(sizes) - 1)]
    return jnp.split(emitted, ends, axis=-1)


def turned(
    values: Float[Array, "batch slots *width"], by: Literal[-1, 1], size: Int[Array, " batch"]
) -> Float[Array, "batch slots *width"]:
    """`rolled` by one, without looking up every value."""
    slots, last = jnp.arange(values.shape[1]), size[:, None] - 1
    if by < 0:
        ends, from_the_other_end = slots == last, values[:, :1]
    else:
        ends, from_the_other_end = slots == 0, jnp.take_along_axis(values, _along(last, values), axis=1)
    moved = jnp.where(_along(ends, values), from_the_other_end, jnp.roll(values, by, axis=1))
    return jnp.where(_along(slots <= last, values), moved, 0)


@jax.custom_vjp
def rolled(
    values: Float[Array, "batch slots *width"], by: Int[Array, " batch"], size: Int[Array, " batch"]
) -> Float[Array, "batch slots *width"]:
    """Each problem's values rotated by `by` on a ring of its own `size`; zeros beyond it."""
    slots = jnp.arange(values.shape[1])
    source = (slots - by[:, None]) % size[:, None]
    moved = jnp.take_along_axis(values, _along(source, values), axis=1)
    return jnp.where(_along(slots < size[:, None], values), moved, 0)


def _rolled(values: Array, by: Array, size: Array) -> tuple[Array, tuple[Array, Array]]:
    return rolled(values, by, size), (by, size)


def _rolled_back(given: tuple[Array, Array], d_values: Array) -> tuple[Array, None, None]:
    """Cotangents are rotated back, which is faster than to scatter them."""
    by, size = given
    return rolled(d_values, -by, size), None, None


rolled.defvjp(_rolled, _rolled_back)


def _along(slots: Shaped[Array, "*batch slots"], values: Array) -> Shaped[Array, "..."]:
    """An array of slots, with axes of one for the further ones of `values`."""
    return slots.reshape(*slots.shape, *[1] * (values.ndim - 2))

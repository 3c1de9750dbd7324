"""`Controller`, the contract, and `LstmController`, the paper's LSTM (section 2.2) with optionally bounded cells."""

import abc
import dataclasses
import math
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from lantm.errors import LantmError
from lantm.machine.gates import opened, pull_gate
from lantm.machine.linear import Linear, lstm_matrices


class Controller(eqx.Module):
    """The contract of a controller: an initial state, and a step function for a single example.

    A custom controller runs in `lax.scan` with autodiff (examples/own_controller.py). The default LSTM has a
    specialised recurrence that is faster and takes less memory.
    """

    @property
    @abc.abstractmethod
    def size(self) -> int:
        """The size of the output, which is also the layer's output size; the emission is computed from it."""

    @abc.abstractmethod
    def begin(self) -> PyTree:
        """The initial state."""

    @abc.abstractmethod
    def step(self, inputs: Float[Array, " inputs_and_reading"], state: PyTree) -> tuple[Float[Array, " size"], PyTree]:
        """The output and the next state, given the layer's input concatenated with the last reading."""


class CellState(NamedTuple):
    """The state of an LSTM."""

    hidden: Float[Array, "*batch cells"]
    cell: Float[Array, "*batch cells"]


@dataclasses.dataclass(frozen=True)
class CellKind:
    """Modifications of LSTM cells that keep their values stable on long inputs."""

    bound: float | None = None
    """Cells are clipped to +- this, so that they cannot count."""
    overshoot: float = 0.0
    """Gates are stretched by this much and clipped, so that they close and open fully and keep a cell exactly."""
    settling: float = 0.0
    """Cells move by up to this much per step towards the nearest of -bound, 0 and +bound, which undoes leaks."""

    def __post_init__(self) -> None:
        if self.bound is not None and not 0 < self.bound < math.inf:
            raise LantmError(f"cell_bound is {self.bound}: give a number above 0, or none")
        if not 0 <= self.overshoot < math.inf:
            raise LantmError(f"controller_overshoot is {self.overshoot}: give a number of at least 0")
        if not 0 <= self.settling < math.inf:
            raise LantmError(f"settle_cells is {self.settling}: give a number of at least 0")
        if self.settling and self.bound is None:
            raise LantmError("settle_cells needs bounded cells: give cell_bound too, such as 1")

    def bounded(self, cell: Float[Array, "*batch cells"]) -> Float[Array, "*batch cells"]:
        """The cell clipped to its bound; the gradient is zero where it is clipped."""
        if self.bound is None:
            return cell
        return jnp.where(jnp.abs(cell) < self.bound, cell, jnp.where(cell < 0, -self.bound, self.bound))

    def settled(self, cell: Float[Array, "*batch cells"]) -> Float[Array, "*batch cells"]:
        """A bounded cell after settling. The caller has to make the gradient straight-through."""
        if self.bound is None or not self.settling:
            return cell
        nearest = jnp.where(cell > self.bound / 2, self.bound, jnp.where(cell < -self.bound / 2, -self.bound, 0.0))
        missing = nearest - cell
        return jnp.where(
            jnp.abs(missing) < self.settling, nearest, cell + jnp.where(missing < 0, -self.settling, self.settling)
        )

    def pull(
        self, cotangent: Float[Array, "*batch cells"], cell: Float[Array, "*batch cells"]
    ) -> Float[Array, "*batch cells"]:
        """The cotangent of a cell before bounding and settling, from the cotangent after them."""
        return cotangent if self.bound is None else jnp.where(jnp.abs(cell) < self.bound, cotangent, 0)


def lstm_cell(
    preactivation: Float[Array, "*batch four_cells"],
    cell: Float[Array, "*batch cells"],
    kind: CellKind = CellKind(),  # noqa: B008 (it is immutable)
) -> tuple[CellState, Float[Array, "*batch four_cells"]]:
    """The next state from the preactivations, and the gate values.

    Preactivations and gates hold, side by side: input gate, forget gate, output gate, candidate.
    """
    cells = cell.shape[-1]
    gates = jnp.concatenate(
        [opened(preactivation[..., : 3 * cells], kind.overshoot), jnp.tanh(preactivation[..., 3 * cells :])], axis=-1
    )
    input_gate, forget_gate, output_gate, candidate = jnp.split(gates, 4, axis=-1)
    cell = kind.bounded(forget_gate * cell + input_gate * candidate)
    if kind.settling:  # straight-through: the bracket is 0 and has the gradient of the cell
        cell = lax.stop_gradient(kind.settled(cell)) + (cell - lax.stop_gradient(cell))
    return CellState(output_gate * jnp.tanh(cell), cell), gates


def lstm_cell_backward(
    gates: Float[Array, "*batch four_cells"],
    before: Float[Array, "*batch cells"],
    cell: Float[Array, "*batch cells"],
    cotangent: CellState,
    kind: CellKind = CellKind(),  # noqa: B008
) -> tuple[Float[Array, "*batch four_cells"], Float[Array, "*batch cells"]]:
    """The cotangents of the preactivations and of the previous cell, from the gates and both cell values.

    Hand-written, since the activations are available: the derivative of each is a polynomial in its value.
    """
    input_gate, forget_gate, output_gate, candidate = jnp.split(gates, 4, axis=-1)
    squashed = jnp.tanh(cell)
    d_cell = cotangent.cell + cotangent.hidden * output_gate * (1 - squashed**2)
    d_cell = kind.pull(d_cell, forget_gate * before + input_gate * candidate)
    d_preactivation = jnp.concatenate(
        [
            pull_gate(d_cell * candidate, input_gate, kind.overshoot),
            pull_gate(d_cell * before, forget_gate, kind.overshoot),
            pull_gate(cotangent.hidden * squashed, output_gate, kind.overshoot),
            d_cell * input_gate * (1 - candidate**2),
        ],
        axis=-1,
    )
    return d_preactivation, d_cell * forget_gate


class LstmController(Controller):
    """The paper's controller: an LSTM whose inputs are the layer's input and the last reading."""

    inputs: Linear  # the input's contribution to the preactivations, with the bias
    recurrent: Float[Array, "reading_and_cells four_cells"]
    start: CellState
    kind: CellKind = eqx.field(static=True)

    def __init__(
        self,
        inputs: int,
        reading: int,
        cells: int,
        key: PRNGKeyArray,
        start: CellState,
        weight_range: float | None = None,
        forget_bias: float | None = None,
        kind: CellKind = CellKind(),  # noqa: B008
    ):
        self.kind = kind
        self.inputs, self.recurrent = lstm_matrices(inputs, reading + cells, cells, key, weight_range, forget_bias)
        self.start = start

    @property
    def size(self) -> int:
        """The number of cells."""
        return self.start.hidden.shape[-1]

    def begin(self) -> CellState:
        """The learnable initial state."""
        return self.start

    def step(
        self, inputs: Float[Array, " inputs_and_reading"], state: CellState
    ) -> tuple[Float[Array, " cells"], CellState]:
        """The hidden state, as output, and the new state."""
        given, reading = jnp.split(inputs, [self.inputs.weight.shape[0]])
        preactivation = self.inputs(given) + jnp.concatenate([reading, state.hidden]) @ self.recurrent
        state, _ = lstm_cell(preactivation, state.cell, self.kind)
        return state.hidden, state

"""The controller's cell: one step of a long short-term memory (section 2.2 of the paper), and its way back."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


class CellState(NamedTuple):
    """What an LSTM carries from step to step."""

    hidden: Float[Array, "*batch cells"]
    cell: Float[Array, "*batch cells"]


def lstm_cell(
    preactivation: Float[Array, "*batch four_cells"], cell: Float[Array, "*batch cells"]
) -> tuple[CellState, Float[Array, "*batch 4*cells"]]:
    """The next state from the weighted sum of all inputs, and the open gates on the way to it.

    The sum and the gates are, side by side: input gate, forget gate, output gate, candidate.
    """
    cells = cell.shape[-1]
    gates = jnp.concatenate(
        [jax.nn.sigmoid(preactivation[..., : 3 * cells]), jnp.tanh(preactivation[..., 3 * cells :])], axis=-1
    )
    input_gate, forget_gate, output_gate, candidate = jnp.split(gates, 4, axis=-1)
    cell = forget_gate * cell + input_gate * candidate
    return CellState(output_gate * jnp.tanh(cell), cell), gates


def lstm_cell_backward(
    gates: Float[Array, "*batch four_cells"],
    before: Float[Array, "*batch cells"],
    cell: Float[Array, "*batch cells"],
    cotangent: CellState,
) -> tuple[Float[Array, "*batch 4*cells"], Float[Array, "*batch cells"]]:
    """The cotangents of the weighted sum and of the cell before, from the gates and the cells on both sides.

    Written out, because the activations are at hand: the derivative of each is a polynomial in its value.
    """
    input_gate, forget_gate, output_gate, candidate = jnp.split(gates, 4, axis=-1)
    squashed = jnp.tanh(cell)
    d_cell = cotangent.cell + cotangent.hidden * output_gate * (1 - squashed**2)
    d_preactivation = jnp.concatenate(
        [
            d_cell * candidate * input_gate * (1 - input_gate),
            d_cell * before * forget_gate * (1 - forget_gate),
            cotangent.hidden * squashed * output_gate * (1 - output_gate),
            d_cell * input_gate * (1 - candidate**2),
        ],
        axis=-1,
    )
    return d_preactivation, d_cell * forget_gate

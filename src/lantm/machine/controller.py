"""The controller's cell: one step of a long short-term memory (section 2.2 of the paper)."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


class CellState(NamedTuple):
    """What an LSTM carries from step to step."""

    hidden: Float[Array, "batch cells"]
    cell: Float[Array, "batch cells"]


def lstm_cell(preactivation: Float[Array, "batch 4*cells"], cell: Float[Array, "batch cells"]) -> CellState:
    """The next state from the weighted sum of all inputs, split into input, forget, output and candidate."""
    input_gate, forget_gate, output_gate, candidate = jnp.split(preactivation, 4, axis=-1)
    cell = jax.nn.sigmoid(forget_gate) * cell + jax.nn.sigmoid(input_gate) * jnp.tanh(candidate)
    return CellState(jax.nn.sigmoid(output_gate) * jnp.tanh(cell), cell)

"""A stack of LSTM layers, forward and backward, as one loop for all layers.

Layer l does its step t in turn t + l of the loop: by then the layer below has done that step, and the layer itself the
one before. So all layers take a step in every turn but the first and last few, and the products of all layers in a turn
are one. A GPU has that many fewer kernels to start, and starting them is most of what so small a step costs it.

As in the recurrence of a machine with a memory, the number of steps is given at run time, the small states of all turns
are saved, and the weights' gradients leave the loop as one large product (`lantm.machine.recurrence`).
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from lantm.machine.controller import CellState, lstm_cell, lstm_cell_backward
from lantm.machine.loops import get_row, get_slices, loop, put_slices


class StackWeights(NamedTuple):
    """The weights of all layers but for what the lowest sees of its inputs."""

    recurrent: Float[Array, "layers fan 4*cells"]
    """Of a layer's own last output, and, in a stack of several, of the output below: zeros for the lowest."""
    biases: Float[Array, "layers 4*cells"]


class Climbed(NamedTuple):
    """What a stack makes of its inputs."""

    outputs: Float[Array, "time batch cells"]  # of the highest layer; zeros beyond the last step
    end: CellState  # of every layer


@jax.custom_vjp
def climb(
    weights: StackWeights, inputs: Float[Array, "time batch 4*cells"], start: CellState, steps: Int[Array, ""]
) -> Climbed:
    """Runs all layers over `inputs`, the inputs' share of the lowest layer's preactivation.

    The arrays of `start` are (layers, batch, cells).
    """
    return _climb(weights, inputs, start, steps)[0]


def _climb(weights: StackWeights, inputs: Array, start: CellState, steps: Array) -> tuple[Climbed, tuple[Array, Array]]:
    layers, batch, cells = start.hidden.shape
    turns = inputs.shape[0] + layers - 1
    # Row s is the state of all layers before turn s: row 0 is the start.
    rows = jnp.zeros((layers, turns + 1, batch, 2 * cells), inputs.dtype)
    rows = put_slices(rows, _pack(start)[:, None], jnp.zeros((), jnp.int32), axis=1)
    gates = jnp.zeros((layers, turns, batch, 4 * cells), inputs.dtype)
    lowest = _nth(layers, 0)

    def turn(s: Array, carry: tuple[CellState, Array, Array]) -> tuple[CellState, Array, Array]:
        state, rows, gates = carry
        given = jnp.where(lowest, get_row(inputs, jnp.minimum(s, inputs.shape[0] - 1)), 0)
        preactivation = given + _product(_seen(state.hidden), weights.recurrent) + weights.biases[:, None]
        after, opened = lstm_cell(preactivation, state.cell)
        active = _active(layers, s, steps)
        state = CellState(*(jnp.where(active, new, old) for new, old in zip(after, state, strict=True)))
        rows = put_slices(rows, _pack(state)[:, None], s + 1, axis=1)
        return state, rows, put_slices(gates, opened[:, None], s, axis=1)

    end, rows, gates = loop(0, steps + layers - 1, turn, (start, rows, gates))
    return Climbed(rows[-1, layers:, :, :cells], end), (rows, gates)


def _climb_forward(weights: StackWeights, inputs: Array, start: CellState, steps: Array) -> tuple[Climbed, Any]:
    climbed, (rows, gates) = _climb(weights, inputs, start, steps)
    return climbed, (weights, rows, gates, steps)


def _climb_backward(saved: Any, cotangent: Climbed) -> Any:
    weights, rows, gates, steps = saved
    layers, turns = gates.shape[:2]
    cells = gates.shape[-1] // 4
    time = turns - layers + 1
    highest = _nth(layers, layers - 1)

    def turn_back(s: Array, carry: tuple[CellState, Array]) -> tuple[CellState, Array]:
        d_state, d_preactivations = carry
        active = _active(layers, s, steps)
        d_output = get_row(cotangent.outputs, jnp.clip(s - layers + 1, 0, time - 1))
        d_hidden = d_state.hidden + jnp.where(highest & active, d_output, 0)
        before, after = (get_slices(rows, at, 1, axis=1)[:, 0, :, cells:] for at in (s, s + 1))
        opened = get_slices(gates, s, 1, axis=1)[:, 0]
        d_preactivation, d_cell = lstm_cell_backward(opened, before, after, CellState(d_hidden, d_state.cell))
        d_preactivation = jnp.where(active, d_preactivation, 0)
        d_seen = _product(d_preactivation, weights.recurrent.mT)
        # A layer that rests hands on what came to it; what a layer saw of the one below is that one's.
        d_hidden = jnp.where(active, d_seen[..., :cells], d_hidden)
        if layers > 1:
            d_hidden = d_hidden.at[:-1].add(d_seen[1:, :, cells:])
        d_state = CellState(d_hidden, jnp.where(active, d_cell, d_state.cell))
        return d_state, put_slices(d_preactivations, d_preactivation[:, None], s, axis=1)

    last = steps + layers - 2
    carry = (cotangent.end, jnp.zeros_like(gates))
    d_start, d_preactivations = loop(0, last + 1, lambda i, carry: turn_back(last - i, carry), carry)
    seen = _seen(rows[:, :-1, :, :cells])
    d_weights = StackWeights(
        recurrent=jnp.einsum("lsbi,lsbj->lij", seen, d_preactivations),
        biases=jnp.sum(d_preactivations, axis=(1, 2)),
    )
    return d_weights, d_preactivations[0, :time], d_start, None


climb.defvjp(_climb_forward, _climb_backward)


def _pack(state: CellState) -> Float[Array, "layers batch 2*cells"]:
    return jnp.concatenate(state, axis=-1)


def _nth(layers: int, layer: int) -> Bool[Array, "layers 1 1"]:
    return (jnp.arange(layers) == layer)[:, None, None]


def _active(layers: int, turn: Array, steps: Array) -> Bool[Array, "layers 1 1"]:
    """Which layers have a step to do in a turn; one layer by itself has always."""
    if layers == 1:
        return jnp.ones((1, 1, 1), bool)
    step = turn - jnp.arange(layers)[:, None, None]
    return (step >= 0) & (step < steps)


def _seen(hidden: Float[Array, "layers *rest cells"]) -> Float[Array, "layers *rest fan"]:
    """What a layer's product is of: its own output, and that of the layer below, where there is one."""
    if hidden.shape[0] == 1:
        return hidden
    below = jnp.concatenate([jnp.zeros_like(hidden[:1]), hidden[:-1]])
    return jnp.concatenate([hidden, below], axis=-1)


def _product(
    rows: Float[Array, "layers batch inputs"], matrices: Float[Array, "layers inputs outputs"]
) -> Float[Array, "layers batch outputs"]:
    """A product for every layer; of one layer, a plain one."""
    return (rows[0] @ matrices[0])[None] if len(matrices) == 1 else rows @ matrices

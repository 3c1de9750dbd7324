"""Forward and backward pass of a stack of LSTM layers, as one loop over all layers.

Layer l computes step t in round t + l of the loop, when the layer below has computed step t and the layer itself step t
- 1. All layers thus work in every round except the first and last few, and their products are one batched product. A
GPU launches that many fewer kernels, and for such small steps launches dominate the cost.

As in the recurrence of the Lie access machine, the number of steps is given at run time, the small states of all rounds
are saved, and the gradients of the weights are computed outside of the loop as one large product
(`lantm.machine.recurrence`).
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from lantm.machine.controller import CellState, lstm_cell, lstm_cell_backward
from lantm.machine.loops import get_row, get_slices, loop, put_slices


class StackWeights(NamedTuple):
    """The weights of all layers, except for the lowest layer's input weights."""

    recurrent: Float[Array, "layers fan four_cells"]
    """For a layer's own last output and, with several layers, for the output below (unused by the lowest layer)."""
    biases: Float[Array, "layers four_cells"]


class StackRun(NamedTuple):
    """The result of running a stack."""

    outputs: Float[Array, "time batch cells"]  # of the highest layer; zeros after the last step
    end: CellState  # the final state of every layer


@jax.custom_vjp
def run_stack(
    weights: StackWeights, inputs: Float[Array, "time batch four_cells"], start: CellState, steps: Int[Array, ""]
) -> StackRun:
    """Runs all layers; `inputs` is the contribution of the inputs to the lowest layer's preactivations.

    The arrays of `start` are (layers, batch, cells).
    """
    return _forward(weights, inputs, start, steps)[0]


def _forward(weights: StackWeights, inputs: Array, start: CellState, steps: Array) -> tuple[StackRun, Any]:
    time = inputs.shape[0]
    layers, batch, cells = start.hidden.shape
    rounds = time + layers - 1
    # Row r is the state of all layers before round r.
    rows = jnp.zeros((layers, rounds + 1, batch, 2 * cells), inputs.dtype).at[:, 0].set(_pack(start))
    gates = jnp.zeros((layers, rounds, batch, 4 * cells), inputs.dtype)
    lowest = _nth(layers, 0)

    def one_round(r: Array, carry: tuple[CellState, Array, Array]) -> tuple[CellState, Array, Array]:
        state, rows, gates = carry
        # After its last step the lowest layer is inactive, and its input is irrelevant.
        given = jnp.where(lowest, get_row(inputs, jnp.minimum(r, time - 1)), 0)
        preactivation = given + _products(_seen(state.hidden), weights.recurrent) + weights.biases[:, None]
        after, opened = lstm_cell(preactivation, state.cell)
        active = _active(layers, r, steps)
        state = CellState(*(jnp.where(active, new, old) for new, old in zip(after, state, strict=True)))
        rows = put_slices(rows, _pack(state)[:, None], r + 1, axis=1)
        return state, rows, put_slices(gates, opened[:, None], r, axis=1)

    end, rows, gates = loop(0, steps + layers - 1, one_round, (start, rows, gates))
    # The highest layer has completed step t in row t + layers.
    return StackRun(rows[-1, layers:, :, :cells], end), (weights, rows, gates, steps)


def _backward(saved: Any, cotangent: StackRun) -> Any:
    weights, rows, gates, steps = saved
    layers, rounds = gates.shape[:2]
    cells = gates.shape[-1] // 4
    time = rounds - layers + 1
    highest = _nth(layers, layers - 1)

    def round_back(r: Array, carry: tuple[CellState, Array]) -> tuple[CellState, Array]:
        d_state, d_preactivations = carry
        active = _active(layers, r, steps)
        d_output = get_row(cotangent.outputs, jnp.clip(r - layers + 1, 0, time - 1))
        d_hidden = d_state.hidden + jnp.where(highest & active, d_output, 0)
        before, after = (get_slices(rows, at, 1, axis=1)[:, 0, :, cells:] for at in (r, r + 1))
        opened = get_slices(gates, r, 1, axis=1)[:, 0]
        d_preactivation, d_cell = lstm_cell_backward(opened, before, after, CellState(d_hidden, d_state.cell))
        d_preactivation = jnp.where(active, d_preactivation, 0)
        d_seen = _products(d_preactivation, weights.recurrent.mT)
        # An inactive layer passes its cotangents on; the cotangent of a layer's input from below belongs to that layer.
        d_hidden = jnp.where(active, d_seen[..., :cells], d_hidden)
        if layers > 1:
            d_hidden = d_hidden.at[:-1].add(d_seen[1:, :, cells:])
        d_state = CellState(d_hidden, jnp.where(active, d_cell, d_state.cell))
        return d_state, put_slices(d_preactivations, d_preactivation[:, None], r, axis=1)

    last = steps + layers - 2
    carry = (cotangent.end, jnp.zeros_like(gates))
    d_start, d_preactivations = loop(0, last + 1, lambda i, carry: round_back(last - i, carry), carry)
    d_weights = StackWeights(
        recurrent=jnp.einsum("lrbi,lrbj->lij", _seen(rows[:, :-1, :, :cells]), d_preactivations),
        biases=jnp.sum(d_preactivations, axis=(1, 2)),
    )
    return d_weights, d_preactivations[0, :time], d_start, None


run_stack.defvjp(_forward, _backward)


def _pack(state: CellState) -> Float[Array, "layers batch two_cells"]:
    return jnp.concatenate(state, axis=-1)


def _nth(layers: int, layer: int) -> Bool[Array, "layers 1 1"]:
    return (jnp.arange(layers) == layer)[:, None, None]


def _active(layers: int, r: Array, steps: Array) -> Bool[Array, "layers 1 1"]:
    """Which layers compute a step in round r."""
    if layers == 1:  # always active: a constant that the compiler can simplify
        return jnp.ones((1, 1, 1), bool)
    step = r - jnp.arange(layers)[:, None, None]
    return (step >= 0) & (step < steps)


def _seen(hidden: Float[Array, "layers *rest cells"]) -> Float[Array, "layers *rest fan"]:
    """The inputs of each layer's recurrent product: its own output, and the output below with several layers."""
    if hidden.shape[0] == 1:
        return hidden
    below = jnp.concatenate([jnp.zeros_like(hidden[:1]), hidden[:-1]])
    return jnp.concatenate([hidden, below], axis=-1)


def _products(
    rows: Float[Array, "layers batch inputs"], matrices: Float[Array, "layers inputs outputs"]
) -> Float[Array, "layers batch outputs"]:
    """One product per layer; a plain product for a single layer, which compilers optimise better."""
    return (rows[0] @ matrices[0])[None] if len(matrices) == 1 else rows @ matrices

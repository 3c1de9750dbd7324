"""Runs a peer step by step, with a dynamic number of steps, forward and backward.

`lax.scan` runs as many steps as its arrays have rows, and a loop of dynamic length has no automatic derivative. So the
forward pass saves the state before every step, and the backward pass recomputes and differentiates each step from
there. What steps only append to, the log, is not saved: each step saw a part of the final log.
"""

import abc
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PyTree

from lantm.machine.controller import CellState
from lantm.machine.loops import get_row, get_slices, loop, put_row, put_slices


class State(NamedTuple):
    """The state carried from step to step."""

    controller: CellState
    reading: Float[Array, "batch reading"]
    memory: PyTree  # what a step may change
    log: PyTree
    """What a step may append to: arrays with a row per input step as their second axis, and one row that is never read,
    for what later steps append. A step must not read the rows from its own on."""


class Step(abc.ABC):
    """One step of a model, as a pure function; compared by value, as a static argument of compiled programs."""

    @abc.abstractmethod
    def step(
        self,
        weights: PyTree,
        row: Float[Array, "batch inputs"],
        state: State,
        at: Int[Array, ""],
        writes: Int[Array, " batch"],
    ) -> tuple[State, PyTree]:
        """The state after step `at`, with its log as it was, and the row that it appends.

        `writes` is the number of input steps of every problem.
        """


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def run_steps(
    step: Step,
    weights: PyTree,
    rows: Float[Array, "time batch inputs"],
    start: State,
    writes: Int[Array, " batch"],
    steps: Int[Array, ""],
) -> tuple[Float[Array, "time batch cells"], State]:
    """The controller's output at every step (zeros after the last), and the final state."""
    outputs, end, _ = _run(step, weights, rows, start, writes, steps, None)
    return outputs, end


def _run(
    step: Step, weights: PyTree, rows: Array, start: State, writes: Array, steps: Array, saved: State | None
) -> tuple[Array, State, State | None]:
    def one(at: Array, carry: tuple[State, Array, State | None]) -> tuple[State, Array, State | None]:
        state, outputs, saved = carry
        if saved is not None:
            saved = jax.tree.map(lambda row, stack: put_row(stack, row, at), _without_log(state), saved)
        state, entry = step.step(weights, get_row(rows, at), state, at, writes)
        return state._replace(log=_put(state.log, entry, at)), put_row(outputs, state.controller.hidden, at), saved

    outputs = jnp.zeros((rows.shape[0], *start.controller.hidden.shape), rows.dtype)
    end, outputs, saved = loop(0, steps, one, (start, outputs, saved))
    return outputs, end, saved


def _without_log(state: State) -> State:
    return state._replace(log=None)


def _place(part: Array, at: Int[Array, ""]) -> Int[Array, ""]:
    """The row of a log that a step writes; after the input, the last one."""
    return jnp.minimum(at, part.shape[1] - 1)


def _put(log: PyTree, entry: PyTree, at: Int[Array, ""]) -> PyTree:
    """The log with another row of step `at`."""
    return jax.tree.map(lambda part, row: put_slices(part, row[:, None], _place(part, at), axis=1), log, entry)


def _forward(
    step: Step, weights: PyTree, rows: Array, start: State, writes: Array, steps: Array
) -> tuple[tuple[Array, State], Any]:
    room = jax.tree.map(lambda leaf: jnp.zeros((rows.shape[0], *leaf.shape), leaf.dtype), _without_log(start))
    outputs, end, saved = _run(step, weights, rows, start, writes, steps, room)
    return (outputs, end), (weights, rows, writes, steps, saved, end.log)


def _backward(step: Step, residuals: Any, cotangent: tuple[Array, State]) -> Any:
    weights, rows, writes, steps, saved, log = residuals
    d_outputs, d_end = cotangent

    def one_back(i: Array, carry: tuple[State, PyTree, Array]) -> tuple[State, PyTree, Array]:
        d_state, d_weights, d_rows = carry
        at = steps - 1 - i
        hidden = d_state.controller.hidden + get_row(d_outputs, at)
        before = jax.tree.map(lambda stack: get_row(stack, at), saved)._replace(log=log)
        # Before this step, the row that it appended held other numbers.
        d_entry = jax.tree.map(lambda d: get_slices(d, _place(d, at), 1, axis=1)[:, 0], d_state.log)
        d_log = _put(d_state.log, jax.tree.map(jnp.zeros_like, d_entry), at)
        d_state = d_state._replace(controller=d_state.controller._replace(hidden=hidden), log=d_log)

        def again(weights: PyTree, row: Array, before: State) -> tuple[State, PyTree]:
            return step.step(weights, row, before, at, writes)

        pull = jax.vjp(again, weights, get_row(rows, at), before)[1]
        d_these, d_row, d_state = pull((d_state, d_entry))
        return d_state, jax.tree.map(jnp.add, d_weights, d_these), put_row(d_rows, d_row, at)

    carry = (d_end, jax.tree.map(jnp.zeros_like, weights), jnp.zeros_like(rows))
    d_start, d_weights, d_rows = loop(0, steps, one_back, carry)
    return d_weights, d_rows, d_start, None, None


run_steps.defvjp(_forward, _backward)

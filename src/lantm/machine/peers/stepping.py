"""Runs a peer step by step, with a dynamic number of steps, forward and backward.

`lax.scan` runs as many steps as its arrays have rows, and a loop of dynamic length has no automatic derivative. So the
forward pass saves the state before every step, and the backward pass recomputes and differentiates each step from
there.
"""

import abc
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PyTree

from lantm.machine.controller import CellState
from lantm.machine.loops import get_row, loop, put_row


class State(NamedTuple):
    """The state carried from step to step."""

    controller: CellState
    reading: Float[Array, "batch reading"]
    memory: PyTree


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
    ) -> State:
        """The state after step `at`; `writes` is the number of input steps of every problem."""


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
        saved = jax.tree.map(lambda row, stack: put_row(stack, row, at), state, saved) if saved is not None else None
        state = step.step(weights, get_row(rows, at), state, at, writes)
        return state, put_row(outputs, state.controller.hidden, at), saved

    outputs = jnp.zeros((rows.shape[0], *start.controller.hidden.shape), rows.dtype)
    end, outputs, saved = loop(0, steps, one, (start, outputs, saved))
    return outputs, end, saved


def _forward(
    step: Step, weights: PyTree, rows: Array, start: State, writes: Array, steps: Array
) -> tuple[tuple[Array, State], Any]:
    room = jax.tree.map(lambda leaf: jnp.zeros((rows.shape[0], *leaf.shape), leaf.dtype), start)
    outputs, end, saved = _run(step, weights, rows, start, writes, steps, room)
    return (outputs, end), (weights, rows, writes, steps, saved)


def _backward(step: Step, residuals: Any, cotangent: tuple[Array, State]) -> Any:
    weights, rows, writes, steps, saved = residuals
    d_outputs, d_end = cotangent

    def one_back(i: Array, carry: tuple[State, PyTree, Array]) -> tuple[State, PyTree, Array]:
        d_state, d_weights, d_rows = carry
        at = steps - 1 - i
        hidden = d_state.controller.hidden + get_row(d_outputs, at)
        d_state = d_state._replace(controller=d_state.controller._replace(hidden=hidden))
        before = jax.tree.map(lambda stack: get_row(stack, at), saved)

        def again(weights: PyTree, row: Array, before: State) -> State:
            return step.step(weights, row, before, at, writes)

        pull = jax.vjp(again, weights, get_row(rows, at), before)[1]
        d_these, d_row, d_state = pull(d_state)
        return d_state, jax.tree.map(jnp.add, d_weights, d_these), put_row(d_rows, d_row, at)

    carry = (d_end, jax.tree.map(jnp.zeros_like, weights), jnp.zeros_like(rows))
    d_start, d_weights, d_rows = loop(0, steps, one_back, carry)
    return d_weights, d_rows, d_start, None, None


run_steps.defvjp(_forward, _backward)

"""The reference recurrence, by `lax.scan` and autodiff: for custom controllers, second derivatives and tests.

The fast recurrence is tested against it. It saves the whole memory at every step, and always runs to the end of its
arrays.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, PyTree

from lantm.machine.access import Access
from lantm.machine.by_loops import interpret
from lantm.machine.controller import CellKind, Controller, lstm_cell
from lantm.machine.linear import Linear
from lantm.machine.memory import Memory, Policy, Window, append, visible
from lantm.machine.state import Machinery, Path, Schedule, State, Weights

# Maps a step's input and the previous state to the controller's output and next state.
Advance = Callable[[Any, State], tuple[Float[Array, "batch size"], PyTree]]


def recur_by_scan(
    access: Access,
    policy: Policy,
    weights: Weights,
    inputs: Float[Array, "time batch four_cells"],
    start: State,
    memory: Memory,
    window: Window,
    schedule: Schedule,
    cell: CellKind = CellKind(),  # noqa: B008 (it is immutable)
) -> Path:
    """The same as `lantm.machine.recurrence.recur`."""

    def advance(given: Array, state: State) -> tuple[Array, PyTree]:
        seen = jnp.concatenate([state.reading, state.controller.hidden], axis=-1)
        controller, _ = lstm_cell(given + seen @ weights.recurrent, state.controller.cell, cell)
        return controller.hidden, controller

    emit = (weights.heads, weights.heads_bias)
    return _scan(Machinery(access, policy), advance, emit, inputs, start, memory, window, schedule)[1]


def recur_with_controller(
    access: Access,
    policy: Policy,
    controller: Controller,
    heads: Linear,
    inputs: Float[Array, "time batch inputs"],
    start: State,
    memory: Memory,
    window: Window,
    schedule: Schedule,
) -> tuple[Float[Array, "time batch size"], Path]:
    """The controller's outputs, and the path."""

    def advance(given: Array, state: State) -> tuple[Array, PyTree]:
        seen = jnp.concatenate([given, state.reading], axis=-1)
        return jax.vmap(controller.step)(seen, state.controller)

    emit = (heads.weight, heads.bias)
    return _scan(Machinery(access, policy), advance, emit, inputs, start, memory, window, schedule)


def _scan(
    machinery: Machinery,
    advance: Advance,
    emit: tuple[Float[Array, "size emission"], Float[Array, " emission"]],
    inputs: Float[Array, "time batch *given"],
    start: State,
    memory: Memory,
    window: Window,
    schedule: Schedule,
) -> tuple[Float[Array, "time batch size"], Path]:
    access = machinery.access
    limit = machinery.limit(window, schedule)
    write_steps = jnp.minimum(schedule.turn, schedule.steps)

    def one_step(carry: tuple[State, Memory], row: tuple[Array, Array]) -> tuple[tuple[State, Memory], Any]:
        t, given = row
        state, memory = carry
        output, controller = advance(given, state)
        emission = output @ emit[0] + emit[1]
        position, new, temperatures = interpret(access, emission, state.position)
        written = append(memory, new, machinery.slot(window, t))
        memory = jax.tree.map(lambda new, old: jnp.where(t < write_steps, new, old), written, memory)
        seen = visible(memory.strengths.shape[1], machinery.seen(window, t, schedule), limit)
        reading = access.read(position.keys[:, : access.read_heads], temperatures, memory, seen)
        left = visible(memory.strengths.shape[1], machinery.left(window, t, schedule), limit)
        after = State(reading, controller, access.settle(position, memory, left))
        running = t < schedule.steps
        state = jax.tree.map(lambda new, old: jnp.where(running, new, old), after, state)
        rows = jax.tree.map(lambda new: jnp.where(running, new, 0), (output, after, emission))
        return (state, memory), rows

    rows = (jnp.arange(inputs.shape[0]), inputs)
    (state, memory), (outputs, states, emissions) = lax.scan(one_step, (start, memory), rows)
    end = machinery.policy.window(window, access.write_heads * write_steps)
    return outputs, Path(states, emissions, state, memory, end)

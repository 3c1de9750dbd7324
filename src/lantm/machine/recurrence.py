"""The recurrence: a controller and its heads, step after step, forward and backward.

Plain `lax.scan` autodiff would save the whole memory at every step, time^2 numbers. But a memory is only
ever appended to, so each step saw a window of the final one. The backward pass here therefore saves the
small state of every step, replays each step against the final memory seen through that step's window, and
carries the cotangent of the memory backwards: linear in time. The weights' gradients leave the loop: it
stacks the cotangents of all preactivations, and one large matrix product at the end does the rest.

The number of steps is given at run time. Arrays are as long as their capacity; loops are not.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Int

from lantm.machine.access import Access, Position
from lantm.machine.controller import CellState, lstm_cell, lstm_cell_backward
from lantm.machine.memory import Memory, Policy, Window, append, visible


class Weights(NamedTuple):
    """The trained matrices inside the loop; the input's share of the preactivation comes from outside."""

    recurrent: Float[Array, "reading+cells 4*cells"]
    heads: Float[Array, "cells emission"]
    heads_bias: Float[Array, " emission"]


class State(NamedTuple):
    """The small state that is carried from step to step, beside the memory."""

    hidden: Float[Array, "batch cells"]
    cell: Float[Array, "batch cells"]
    reading: Float[Array, "batch reading"]
    position: Position


class Schedule(NamedTuple):
    """How long to run, given at run time."""

    steps: Int[Array, ""]
    writes: Int[Array, " batch"]  # in its first `writes` steps, a problem writes to its memory


class Path(NamedTuple):
    """What happened: the small states after every step, and what the machine ended with."""

    states: State  # with a leading axis of time; rows from `steps` on are zero
    emissions: Float[Array, "time batch emission"]
    windows: Window  # with an axis of time: what each reading could see
    state: State
    memory: Memory
    window: Window


class Machinery(NamedTuple):
    """What the loop depends on that is not differentiated."""

    access: Access
    policy: Policy


def recur(
    access: Access,
    policy: Policy,
    weights: Weights,
    inputs: Float[Array, "time batch 4*cells"],
    start: State,
    memory: Memory,
    window: Window,
    schedule: Schedule,
) -> Path:
    """Runs the machine over `inputs`, its symbols' share of the controller's preactivation.

    `memory` has room for what will be written: its slots from `window.end` on are free.
    """
    return _recur(Machinery(access, policy), weights, inputs, start, memory, window, schedule)


def _interpret(access: Access, emission: Array, before: Position) -> tuple[Position, Memory, Array | None]:
    said = access.understand(emission)
    position = access.move(said, before)
    return position, access.written(said, position), said.temperatures


def step(
    machinery: Machinery,
    weights: Weights,
    given: Array,
    state: State,
    memory: Memory,
    window: Window,
    limit: Array,
    writing: bool,
) -> tuple[State, Memory, Window, tuple[Array, Array, Window]]:
    """One step of the machine (section 1 of the specification in docs/machine.md)."""
    access, policy = machinery
    preactivation = given + jnp.concatenate([state.reading, state.hidden], axis=-1) @ weights.recurrent
    controller, gates = lstm_cell(preactivation, state.cell)
    emission = controller.hidden @ weights.heads + weights.heads_bias
    position, written, temperatures = _interpret(access, emission, state.position)
    after = window
    if writing:
        memory = append(memory, written, window.end)
        after = Window(window.first, window.end + access.write_heads)
    seen = after if access.read_sees_write else window
    read_keys = position.keys[:, : access.read_heads]
    reading = access.read(read_keys, temperatures, memory, visible(memory.strengths.shape[1], seen, limit))
    if writing:
        after = policy.after_write(after)
    return State(*controller, reading, position), memory, after, (gates, emission, seen)


def _put(stack: Any, row: Any, at: Array) -> Any:
    return jax.tree.map(lambda s, r: lax.dynamic_update_index_in_dim(s, r, at, axis=0), stack, row)


def _get(stack: Any, at: Array) -> Any:
    return jax.tree.map(lambda s: lax.dynamic_index_in_dim(s, at, axis=0, keepdims=False), stack)


def _room(row: Any, rows: int) -> Any:
    return jax.tree.map(lambda r: jnp.zeros((rows, *r.shape), r.dtype), row)


def _forward(
    machinery: Machinery,
    weights: Weights,
    inputs: Array,
    start: State,
    memory: Memory,
    window: Window,
    schedule: Schedule,
) -> tuple[Path, tuple[State, Array]]:
    capacity, batch, _ = inputs.shape
    steps, write_steps = schedule.steps, jnp.max(schedule.writes)
    limit = window.end + machinery.access.write_heads * schedule.writes
    # Row t of `states` is the state before step t, so row 0 is the start.
    states = _put(_room(start, capacity + 1), start, jnp.zeros((), jnp.int32))
    rows = _room((inputs[0], jnp.zeros((batch, machinery.access.emission_size), inputs.dtype), window), capacity)

    def body(t: Array, carry: Any, writing: bool, memory_read_only: Memory | None = None) -> Any:
        state, memory, window, states, rows = carry
        memory = memory if memory_read_only is None else memory_read_only
        state, memory, window, row = step(machinery, weights, _get(inputs, t), state, memory, window, limit, writing)
        memory = memory if memory_read_only is None else None
        return state, memory, window, _put(states, state, t + 1), _put(rows, row, t)

    turn = jnp.minimum(write_steps, steps)
    carry = (start, memory, window, states, rows)
    carry = lax.fori_loop(0, turn, partial(body, writing=True), carry)
    # The answer phase writes nothing: there the memory is a constant of the loop.
    _, memory, window, _, _ = carry
    carry = (carry[0], None, *carry[2:])
    answer = partial(body, writing=False, memory_read_only=memory)
    state, _, window, states, rows = lax.fori_loop(turn, steps, answer, carry)
    gates, emissions, windows = rows
    after = jax.tree.map(lambda s: s[1:], states)
    path = Path(after, emissions, windows, state, memory, window)
    return path, (states, gates)


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _recur(
    machinery: Machinery,
    weights: Weights,
    inputs: Array,
    start: State,
    memory: Memory,
    window: Window,
    schedule: Schedule,
) -> Path:
    return _forward(machinery, weights, inputs, start, memory, window, schedule)[0]


def _recur_forward(
    machinery: Machinery,
    weights: Weights,
    inputs: Array,
    start: State,
    memory: Memory,
    window: Window,
    schedule: Schedule,
) -> tuple[Path, Any]:
    path, (states, gates) = _forward(machinery, weights, inputs, start, memory, window, schedule)
    saved = (weights, states, gates, path.emissions, path.windows, path.memory, window, schedule)
    return path, saved


def _recur_backward(machinery: Machinery, saved: Any, cotangent: Path) -> Any:
    access, _ = machinery
    weights, states, gates, emissions, windows, memory, window, schedule = saved
    steps, write_steps = schedule.steps, jnp.max(schedule.writes)
    limit = window.end + access.write_heads * schedule.writes
    reading_size = states.reading.shape[-1]
    first_slot = window.end

    def body(i: Array, carry: Any, writing: bool, last: Array) -> Any:
        d_state, d_memory, d_preactivations, d_emissions = carry
        t = last - i
        before = _get(states, t)
        d_state = jax.tree.map(jnp.add, d_state, _get(cotangent.states, t))
        emission = _get(emissions, t)

        (position, _, temperatures), pull_heads = jax.vjp(partial(_interpret, access), emission, before.position)
        seen = visible(memory.strengths.shape[1], _get(windows, t), limit)
        read_keys = position.keys[:, : access.read_heads]
        d_read_keys, d_temperatures, d_seen = access.read_backward(
            read_keys, temperatures, memory, seen, _get(states.reading, t + 1), d_state.reading
        )
        d_memory = jax.tree.map(jnp.add, d_memory, d_seen)
        slot = first_slot + t * access.write_heads
        d_written = jax.tree.map(
            lambda d: (
                lax.dynamic_slice_in_dim(d, slot, access.write_heads, axis=1)
                if writing
                else jnp.zeros((d.shape[0], access.write_heads, *d.shape[2:]), d.dtype)
            ),
            d_memory,
        )
        d_keys = d_state.position.keys.at[:, : access.read_heads].add(d_read_keys)
        d_position = Position(d_keys, d_state.position.actions)
        d_emission, d_before = pull_heads((d_position, d_written, d_temperatures))
        d_emission = d_emission + _get(cotangent.emissions, t)
        d_hidden = d_state.hidden + d_emission @ weights.heads.T
        d_preactivation, d_cell = lstm_cell_backward(
            _get(gates, t), before.cell, _get(states.cell, t + 1), CellState(d_hidden, d_state.cell)
        )
        d_joined = d_preactivation @ weights.recurrent.T
        d_state = State(d_joined[:, reading_size:], d_cell, d_joined[:, :reading_size], d_before)
        return (
            d_state,
            d_memory,
            _put(d_preactivations, d_preactivation, t),
            _put(d_emissions, d_emission, t),
        )

    turn = jnp.minimum(write_steps, steps)
    carry = (
        cotangent.state,
        cotangent.memory,
        jnp.zeros_like(gates),
        jnp.zeros_like(emissions),
    )
    carry = lax.fori_loop(0, steps - turn, partial(body, writing=False, last=steps - 1), carry)
    carry = lax.fori_loop(0, turn, partial(body, writing=True, last=turn - 1), carry)
    d_start, d_memory, d_preactivations, d_emissions = carry

    # What was written has passed its cotangent on to the controller; the rest was there at the start.
    free = jnp.arange(memory.strengths.shape[1]) >= first_slot
    d_memory = jax.tree.map(lambda d: jnp.where(free.reshape(-1, *[1] * (d.ndim - 2)), 0, d), d_memory)
    joined = jnp.concatenate([states.reading[:-1], states.hidden[:-1]], axis=-1)
    d_weights = Weights(
        recurrent=jnp.einsum("tbi,tbj->ij", joined, d_preactivations),
        heads=jnp.einsum("tbi,tbj->ij", states.hidden[1:], d_emissions),
        heads_bias=jnp.sum(d_emissions, axis=(0, 1)),
    )
    return d_weights, d_preactivations, d_start, d_memory, None, None


_recur.defvjp(_recur_forward, _recur_backward)

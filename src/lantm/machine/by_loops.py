"""The recurrence by JAX loops with a dynamic number of steps: forward and backward pass of every step.

The backward pass replays each step against the final memory, seen through that step's window, and propagates the
cotangent of the memory backwards (`lantm.machine.recurrence` explains why this suffices).
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from lantm.machine.access import Access, Position
from lantm.machine.controller import CellState, lstm_cell, lstm_cell_backward
from lantm.machine.loops import get_row, get_slices, loop, put_row, put_slices
from lantm.machine.memory import Memory, Window, visible
from lantm.machine.state import Machinery, Path, Pulled, Schedule, State, Weights


class Step(NamedTuple):
    """One step of the machine, before its reading."""

    controller: CellState
    gates: Float[Array, "batch four_cells"]
    emission: Float[Array, "batch emission"]
    position: Position
    written: Memory
    temperatures: Float[Array, "batch read_heads"] | None


def take_step(machinery: Machinery, weights: Weights, given: Float[Array, "batch four_cells"], state: State) -> Step:
    """The controller's step and the heads' moves (docs/machine.md, "One step"), without the memory."""
    preactivation = given + jnp.concatenate([state.reading, state.controller.hidden], axis=-1) @ weights.recurrent
    controller, gates = lstm_cell(preactivation, state.controller.cell, machinery.cell)
    emission = controller.hidden @ weights.heads + weights.heads_bias
    return Step(controller, gates, emission, *interpret(machinery.access, emission, state.position))


def interpret(
    access: Access, emission: Float[Array, "batch emission"], before: Position
) -> tuple[Position, Memory, Float[Array, "batch read_heads"] | None]:
    """The new positions, the written memory and the temperatures for an emission."""
    understood = access.understand(emission)
    position = access.move(understood, before)
    return position, access.written(understood, position), understood.temperatures


class Saved(NamedTuple):
    """The arrays that the forward pass saves for the backward pass."""

    rows: Float[Array, "rows batch packed"]  # row t: the state before step t, and the emission of step t - 1
    gates: Float[Array, "time batch four_cells"]


def _pack(state: State, emission: Array) -> Float[Array, "batch packed"]:
    """A step's small state and emission as one row, so that a step saves one slice instead of six."""
    leaves = [*jax.tree.leaves(state), emission]
    return jnp.concatenate([leaf.reshape(leaf.shape[0], -1) for leaf in leaves], axis=-1)


def unpack(
    like: State, packed: Float[Array, "*time batch packed"]
) -> tuple[State, Float[Array, "*time batch emission"]]:
    """States with the shapes of `like`, and emissions, from packed rows."""
    leaves, structure = jax.tree.flatten(like)
    found, begin = [], 0
    for leaf in leaves:
        size = leaf[0].size
        found.append(packed[..., begin : begin + size].reshape(*packed.shape[:-1], *leaf.shape[1:]))
        begin += size
    return jax.tree.unflatten(structure, found), packed[..., begin:]


def forward(
    machinery: Machinery,
    weights: Weights,
    inputs: Float[Array, "time batch four_cells"],
    start: State,
    memory: Memory,
    window: Window,
    schedule: Schedule,
) -> tuple[Saved, Memory]:
    """Runs all steps of all problems."""
    access = machinery.access
    time, batch, preactivations = inputs.shape
    limit = machinery.limit(window, schedule)
    slots = memory.strengths.shape[1]
    first = _pack(start, jnp.zeros((batch, access.emission_size), inputs.dtype))
    rows = put_row(jnp.zeros((time + 1, *first.shape), first.dtype), first, jnp.zeros((), jnp.int32))
    gates = jnp.zeros((time, batch, preactivations), inputs.dtype)

    def read(t: Array, step: Step, memory: Memory, rows: Array, gates: Array) -> tuple[State, Array, Array]:
        keys = step.position.keys[:, : access.read_heads]
        seen = visible(slots, machinery.seen(window, t, schedule), limit)
        reading = access.read(keys, step.temperatures, memory, seen)
        left = visible(slots, machinery.left(window, t, schedule), limit)
        state = State(reading, step.controller, access.settle(step.position, memory, left))
        return state, put_row(rows, _pack(state, step.emission), t + 1), put_row(gates, step.gates, t)

    def input_step(t: Array, carry: tuple[State, Array, Array, Memory]) -> tuple[State, Array, Array, Memory]:
        state, rows, gates, memory = carry
        step = take_step(machinery, weights, get_row(inputs, t), state)
        at = machinery.slot(window, t)
        memory = Memory(*(put_slices(old, new, at, axis=1) for old, new in zip(memory, step.written, strict=True)))
        return *read(t, step, memory, rows, gates), memory

    turn = jnp.minimum(schedule.turn, schedule.steps)
    state, rows, gates, memory = loop(0, turn, input_step, (start, rows, gates, memory))

    def answer_step(t: Array, carry: tuple[State, Array, Array]) -> tuple[State, Array, Array]:
        # Nothing is written during the answer, so the memory is a loop constant.
        state, rows, gates = carry
        return read(t, take_step(machinery, weights, get_row(inputs, t), state), memory, rows, gates)

    _, rows, gates = loop(turn, schedule.steps, answer_step, (state, rows, gates))
    return Saved(rows, gates), memory


def backward(
    machinery: Machinery,
    weights: Weights,
    start: State,
    saved: Saved,
    memory: Memory,
    window: Window,
    schedule: Schedule,
    cotangent: Path,
) -> Pulled:
    """The cotangents of the arguments of `forward`, except the weights, from those of the path."""
    access, (rows, gates) = machinery.access, saved
    reading_size = start.reading.shape[-1]
    limit = machinery.limit(window, schedule)
    slots = memory.strengths.shape[1]
    # Transposed here; otherwise the compiler would transpose them in every step.
    recurrent, heads = lax.optimization_barrier((weights.recurrent.T, weights.heads.T))

    def read_back(t: Array, d_state: State, d_memory: Memory) -> tuple[State, State, State, Memory, Any]:
        """Backward through the reading of step t."""
        d_state = jax.tree.map(lambda d, rows: d + get_row(rows, t), d_state, cotangent.states)
        d_emission = get_row(cotangent.emissions, t)
        before, _ = unpack(start, get_row(rows, t))
        after, emission = unpack(start, get_row(rows, t + 1))
        (position, _, temperatures), pull = jax.vjp(partial(interpret, access), emission, before.position)
        d_read_keys, d_temperatures, d_seen = access.read_backward(
            position.keys[:, : access.read_heads],
            temperatures,
            memory,
            visible(slots, machinery.seen(window, t, schedule), limit),
            after.reading,
            d_state.reading,
        )
        d_keys = d_state.position.keys.at[:, : access.read_heads].add(d_read_keys)
        d_state = d_state._replace(position=Position(d_keys, d_state.position.actions))
        d_memory = jax.tree.map(jnp.add, d_memory, d_seen)

        def pull_heads(d_written: Memory) -> tuple[Array, Position]:
            d_heads, d_before = pull((d_state.position, d_written, d_temperatures))
            return d_emission + d_heads, d_before

        return d_state, before, after, d_memory, pull_heads

    def control_back(
        t: Array, before: State, after: State, d_state: State, d_emission: Array, d_position: Position
    ) -> tuple[State, Array]:
        """Backward through the controller, to the state before step t."""
        d_hidden = d_state.controller.hidden + d_emission @ heads
        d_preactivation, d_cell = lstm_cell_backward(
            get_row(gates, t),
            before.controller.cell,
            after.controller.cell,
            CellState(d_hidden, d_state.controller.cell),
            machinery.cell,
        )
        d_joined = d_preactivation @ recurrent
        d_controller = CellState(d_joined[:, reading_size:], d_cell)
        return State(d_joined[:, :reading_size], d_controller, d_position), d_preactivation

    def step_back(t: Array, carry: Any, writing: bool) -> Any:
        d_state, d_memory, d_preactivations, d_emissions = carry
        d_state, before, after, d_memory, pull_heads = read_back(t, d_state, d_memory)
        if writing:
            at = machinery.slot(window, t)
            d_written = Memory(*(get_slices(d, at, access.write_heads, axis=1) for d in d_memory))
        else:
            d_written = Memory(*(jnp.zeros_like(d[:, : access.write_heads]) for d in d_memory))
        d_emission, d_position = pull_heads(d_written)
        d_state, d_preactivation = control_back(t, before, after, d_state, d_emission, d_position)
        return (
            d_state,
            d_memory,
            put_row(d_preactivations, d_preactivation, t),
            put_row(d_emissions, d_emission, t),
        )

    steps = schedule.steps
    turn = jnp.minimum(schedule.turn, steps)
    carry = (cotangent.state, cotangent.memory, jnp.zeros_like(gates), jnp.zeros_like(cotangent.emissions))
    carry = loop(0, steps - turn, lambda i, carry: step_back(steps - 1 - i, carry, writing=False), carry)
    carry = loop(0, turn, lambda i, carry: step_back(turn - 1 - i, carry, writing=True), carry)
    d_start, d_memory, d_preactivations, d_emissions = carry
    return Pulled(d_preactivations, d_emissions, d_start, d_memory)

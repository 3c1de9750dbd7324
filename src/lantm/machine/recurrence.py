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
from jax.custom_derivatives import SymbolicZero
from jaxtyping import Array, Float

from lantm.machine import fused
from lantm.machine.access import Access, Position
from lantm.machine.backend import Backend, choose_kernels
from lantm.machine.controller import CellState, lstm_cell, lstm_cell_backward
from lantm.machine.loops import get_row, get_slices, loop, put_row, put_slices
from lantm.machine.memory import Memory, Policy, Window, visible
from lantm.machine.state import Machinery, Path, Schedule, State, Weights


class Step(NamedTuple):
    """One step of the machine, before its reading."""

    controller: CellState
    gates: Float[Array, "batch four_cells"]
    emission: Float[Array, "batch emission"]
    position: Position
    written: Memory
    temperatures: Float[Array, "batch read_heads"] | None


def recur(
    access: Access,
    policy: Policy,
    weights: Weights,
    inputs: Float[Array, "time batch four_cells"],
    start: State,
    memory: Memory,
    window: Window,
    schedule: Schedule,
    backend: Backend = "auto",
) -> Path:
    """Runs the machine over `inputs`, their share of the controller's preactivation.

    `memory` has room for what will be written: its slots from `window.end` on are free.
    """
    kernels = choose_kernels(backend, access, start.hidden.shape[-1], inputs.dtype)
    return _recur(Machinery(access, policy, kernels), weights, inputs, start, memory, window, schedule)


def take_step(access: Access, weights: Weights, given: Float[Array, "batch four_cells"], state: State) -> Step:
    """The controller's step and the heads' (docs/machine.md, "One step"): all but the memory."""
    preactivation = given + jnp.concatenate([state.reading, state.hidden], axis=-1) @ weights.recurrent
    controller, gates = lstm_cell(preactivation, state.cell)
    emission = controller.hidden @ weights.heads + weights.heads_bias
    return Step(controller, gates, emission, *_interpret(access, emission, state.position))


def _interpret(access: Access, emission: Array, before: Position) -> tuple[Position, Memory, Array | None]:
    said = access.understand(emission)
    position = access.move(said, before)
    return position, access.written(said, position), said.temperatures


def _pack(state: State, emission: Array) -> Float[Array, "batch packed"]:
    """A step's small state and emission as one row, so that a step saves one slice, not six."""
    leaves = [*jax.tree.leaves(state), emission]
    return jnp.concatenate([leaf.reshape(leaf.shape[0], -1) for leaf in leaves], axis=-1)


def _unpack(like: State, packed: Float[Array, "*time batch packed"]) -> tuple[State, Array]:
    leaves, structure = jax.tree.flatten(like)
    found, begin = [], 0
    for leaf in leaves:
        size = leaf[0].size
        found.append(packed[..., begin : begin + size].reshape(*packed.shape[:-1], *leaf.shape[1:]))
        begin += size
    return jax.tree.unflatten(structure, found), packed[..., begin:]


def _forward(
    machinery: Machinery,
    weights: Weights,
    inputs: Array,
    start: State,
    memory: Memory,
    window: Window,
    schedule: Schedule,
) -> tuple[Path, tuple[Array, Array]]:
    access = machinery.access
    time, batch, preactivations = inputs.shape
    limit = machinery.limit(window, schedule)
    slots = memory.strengths.shape[1]
    # Row t is the state before step t, with the emission that led to it: row 0 is the start.
    first = _pack(start, jnp.zeros((batch, access.emission_size), inputs.dtype))
    rows = put_row(jnp.zeros((time + 1, *first.shape), first.dtype), first, jnp.zeros((), jnp.int32))
    gates = jnp.zeros((time, batch, preactivations), inputs.dtype)

    def read(t: Array, step: Step, memory: Memory, rows: Array, gates: Array) -> tuple[State, Array, Array]:
        keys = step.position.keys[:, : access.read_heads]
        seen = visible(slots, machinery.seen(window, t, schedule), limit)
        reading = access.read(keys, step.temperatures, memory, seen)
        state = State(reading, *step.controller, step.position)
        return state, put_row(rows, _pack(state, step.emission), t + 1), put_row(gates, step.gates, t)

    def input_step(t: Array, carry: tuple[State, Array, Array, Memory]) -> tuple[State, Array, Array, Memory]:
        state, rows, gates, memory = carry
        step = take_step(access, weights, get_row(inputs, t), state)
        at = machinery.slot(window, t)
        memory = Memory(*(put_slices(old, new, at, axis=1) for old, new in zip(memory, step.written, strict=True)))
        return *read(t, step, memory, rows, gates), memory

    turn = jnp.minimum(schedule.turn, schedule.steps)
    state, rows, gates, memory = loop(0, turn, input_step, (start, rows, gates, memory))

    def answer_step(t: Array, carry: tuple[State, Array, Array]) -> tuple[State, Array, Array]:
        # Nothing is written while answering: here the memory is a constant of the loop.
        state, rows, gates = carry
        return read(t, take_step(access, weights, get_row(inputs, t), state), memory, rows, gates)

    state, rows, gates = loop(turn, schedule.steps, answer_step, (state, rows, gates))
    states, emissions = _unpack(start, rows[1:])
    end = machinery.policy.window(window, access.write_heads * turn)
    return Path(states, emissions, state, memory, end), (rows, gates)


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
    if machinery.kernels is not None:
        return fused.forward(machinery, weights, inputs, start, memory, window, schedule)[0]
    return _forward(machinery, weights, inputs, start, memory, window, schedule)[0]


def _recur_forward(machinery: Machinery, *arguments: Any) -> tuple[Path, Any]:
    # JAX says of every argument whether it is differentiated; here all of them are treated alike.
    given = jax.tree.map(lambda leaf: leaf.value, arguments, is_leaf=lambda leaf: hasattr(leaf, "perturbed"))
    weights, inputs, start, memory, window, schedule = given
    if machinery.kernels is not None:
        return fused.forward(machinery, weights, inputs, start, memory, window, schedule)
    path, (rows, gates) = _forward(machinery, weights, inputs, start, memory, window, schedule)
    return path, (weights, start, rows, gates, path.memory, window, schedule)


def _recur_backward(machinery: Machinery, saved: Any, cotangent: Path) -> Any:
    access = machinery.access
    if isinstance(saved, fused.Kept):
        hidden = cotangent.states.hidden
        leaves = jax.tree.leaves(cotangent, is_leaf=_is_zero)
        if all(leaf is hidden or _is_zero(leaf) for leaf in leaves):  # as in training
            return fused.backward(machinery, saved, _instantiate(hidden))
        rows, gates = saved.rows(machinery.access)
        saved = (saved.weights, saved.start, rows, gates, saved.memory, saved.window, saved.schedule)
    cotangent = jax.tree.map(_instantiate, cotangent, is_leaf=_is_zero)
    weights, start, rows, gates, memory, window, schedule = saved
    reading_size = start.reading.shape[-1]
    limit = machinery.limit(window, schedule)
    slots = memory.strengths.shape[1]

    def read_back(t: Array, d_state: State, d_memory: Memory) -> tuple[State, State, State, Memory, Any]:
        """From the state after step t back through its reading."""
        d_state = jax.tree.map(lambda d, rows: d + get_row(rows, t), d_state, cotangent.states)
        d_emission = get_row(cotangent.emissions, t)
        before, _ = _unpack(start, get_row(rows, t))
        after, emission = _unpack(start, get_row(rows, t + 1))
        (position, _, temperatures), pull = jax.vjp(partial(_interpret, access), emission, before.position)
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
            d_said, d_before = pull((d_state.position, d_written, d_temperatures))
            return d_emission + d_said, d_before

        return d_state, before, after, d_memory, pull_heads

    def control_back(
        t: Array, before: State, after: State, d_state: State, d_emission: Array, d_position: Position
    ) -> tuple[State, Array]:
        """Back through the controller, to the state before step t."""
        d_hidden = d_state.hidden + d_emission @ weights.heads.T
        d_preactivation, d_cell = lstm_cell_backward(
            get_row(gates, t), before.cell, after.cell, CellState(d_hidden, d_state.cell)
        )
        d_joined = d_preactivation @ weights.recurrent.T
        return State(d_joined[:, :reading_size], d_joined[:, reading_size:], d_cell, d_position), d_preactivation

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

    # What was written has passed its cotangent on to the controller; the rest was there at the start.
    free = jnp.arange(slots) >= window.end
    d_memory = jax.tree.map(lambda d: jnp.where(free.reshape(-1, *[1] * (d.ndim - 2)), 0, d), d_memory)
    cells = start.hidden.shape[-1]
    joined = rows[:-1, :, : reading_size + cells]  # reading and hidden state before every step
    hidden = rows[1:, :, reading_size : reading_size + cells]
    d_weights = Weights(
        recurrent=jnp.einsum("tbi,tbj->ij", joined, d_preactivations),
        heads=jnp.einsum("tbi,tbj->ij", hidden, d_emissions),
        heads_bias=jnp.sum(d_emissions, axis=(0, 1)),
    )
    return d_weights, d_preactivations, d_start, d_memory, None, None


_recur.defvjp(_recur_forward, _recur_backward, symbolic_zeros=True)


def _is_zero(leaf: Any) -> bool:
    return isinstance(leaf, SymbolicZero)


def _instantiate(leaf: Any) -> Any:
    return jnp.zeros(leaf.shape, leaf.dtype) if _is_zero(leaf) else leaf

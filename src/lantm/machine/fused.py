"""The recurrence through the kernels of `lantm.machine.kernel`: what goes into them, and what comes out."""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from lantm.machine import kernel
from lantm.machine.access import Access, Position
from lantm.machine.memory import Memory, Window
from lantm.machine.state import Machinery, Path, Schedule, State, Weights


class Kept(NamedTuple):
    """What the backward pass needs."""

    weights: Weights
    start: State
    saved: kernel.Saved
    memory: Memory
    window: Window
    schedule: Schedule

    def rows(self, access: Access) -> tuple[Float[Array, "rows batch packed"], Float[Array, "rows-1 batch four_cells"]]:
        """States, emissions and gates in the form that the loops of `lantm.machine.recurrence` keep them in."""
        saved = self.saved
        time, batch = saved.gates.shape[:2]
        said = kernel.join(access, saved.scalars, saved.vectors)
        said = jnp.concatenate([jnp.zeros_like(said[:1]), said])
        parts = [part.reshape(time + 1, batch, -1) for part in (*saved[:5], said)]
        return jnp.concatenate(parts, axis=-1), saved.gates.reshape(time, batch, -1)


def _numbers(machinery: Machinery, window: Window, schedule: Schedule) -> tuple[Array, Array]:
    turn = jnp.minimum(schedule.turn, schedule.steps)
    numbers = jnp.stack([schedule.steps, turn, window.first, window.end]).astype(jnp.int32)
    return numbers, machinery.limit(window, schedule).astype(jnp.int32)


def forward(
    machinery: Machinery,
    weights: Weights,
    inputs: Float[Array, "time batch four_cells"],
    start: State,
    memory: Memory,
    window: Window,
    schedule: Schedule,
) -> tuple[Path, Kept]:
    """What happened, and what the backward pass needs."""
    access = machinery.access
    batch = inputs.shape[1]
    reading = start.reading.reshape(batch, access.read_heads, access.memory_width)
    begin = (reading, start.hidden, start.cell, *start.position)
    numbers, limits = _numbers(machinery, window, schedule)
    matrices = kernel.matrices(access, *weights)
    saved, memory = kernel.forward(machinery, matrices, inputs, begin, memory, numbers, limits)

    def state(rows: slice | Array) -> State:
        reading, hidden, cell, keys, actions = (array[rows] for array in saved[:5])
        return State(reading.reshape(*hidden.shape[:-1], -1), hidden, cell, Position(keys, actions))

    emissions = kernel.join(access, saved.scalars, saved.vectors)
    end = machinery.policy.window(window, access.write_heads * numbers[1])
    path = Path(state(slice(1, None)), emissions, state(schedule.steps), memory, end)
    return path, Kept(weights, start, saved, memory, window, schedule)


def backward(
    machinery: Machinery, kept: Kept, d_hidden: Float[Array, "time batch cells"]
) -> tuple[Weights, Array, State, Memory, None, None]:
    """The cotangents of what `forward` was given, from those of all hidden states."""
    access = machinery.access
    weights, _, saved, memory, window, schedule = kept
    numbers, limits = _numbers(machinery, window, schedule)
    matrices = kernel.matrices(access, *weights)
    found = kernel.backward(machinery, matrices, saved, memory, numbers, limits, d_hidden)
    rows, batch = saved.hidden.shape[:2]
    d_preactivations = found.preactivations.reshape(rows, batch, -1)
    d_said = kernel.join(access, found.scalars, found.vectors)
    joined = jnp.concatenate([saved.reading.reshape(rows, batch, -1), saved.hidden], axis=-1)
    d_weights = Weights(
        recurrent=jnp.einsum("tbi,tbj->ij", joined, d_preactivations),
        heads=jnp.einsum("tbi,tbj->ij", saved.hidden, d_said),
        heads_bias=jnp.sum(d_said, axis=(0, 1)),
    )
    free = jnp.arange(memory.strengths.shape[1]) >= window.end
    d_memory = Memory(*(jnp.where(free.reshape(-1, *[1] * (d.ndim - 2)), 0, d) for d in found.memory))
    d_start = State(
        found.reading.reshape(batch, -1), found.start.hidden, found.start.cell, Position(found.keys, found.actions)
    )
    return d_weights, d_preactivations[:-1], d_start, d_memory, None, None

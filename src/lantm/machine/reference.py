"""The recurrence again, by plain `lax.scan` and autodiff: what the fast one is tested against.

It saves the whole memory at every step, runs to the end of its arrays however few steps are asked for,
and is as plain as it can be.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from lantm.machine.access import Access
from lantm.machine.memory import Memory, Policy, Window, append, visible
from lantm.machine.recurrence import Machinery, Path, Schedule, State, Weights, take_step


def recur_by_scan(
    access: Access,
    policy: Policy,
    weights: Weights,
    inputs: Float[Array, "time batch four_cells"],
    start: State,
    memory: Memory,
    window: Window,
    schedule: Schedule,
) -> Path:
    """Does what `lantm.machine.recurrence.recur` does."""
    machinery = Machinery(access, policy)
    limit = machinery.limit(window, schedule)
    write_steps = jnp.minimum(schedule.turn, schedule.steps)

    def one_step(carry: Any, row: tuple[Array, Array]) -> tuple[Any, Any]:
        t, given = row
        state, memory = carry
        step = take_step(access, weights, given, state)
        written = append(memory, step.written, machinery.slot(window, t))
        memory = jax.tree.map(lambda new, old: jnp.where(t < write_steps, new, old), written, memory)
        seen = visible(memory.strengths.shape[1], machinery.seen(window, t, schedule), limit)
        reading = access.read(step.position.keys[:, : access.read_heads], step.temperatures, memory, seen)
        after = State(reading, *step.controller, step.position)
        running = t < schedule.steps
        state = jax.tree.map(lambda new, old: jnp.where(running, new, old), after, state)
        rows = jax.tree.map(lambda new: jnp.where(running, new, 0), (after, step.emission))
        return (state, memory), rows

    rows = (jnp.arange(inputs.shape[0]), inputs)
    (state, memory), (states, emissions) = lax.scan(one_step, (start, memory), rows)
    end = policy.window(window, access.write_heads * write_steps)
    return Path(states, emissions, state, memory, end)

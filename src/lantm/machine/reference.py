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
from lantm.machine.memory import Memory, Policy, Window
from lantm.machine.recurrence import Machinery, Path, Schedule, State, Weights, step


def recur_by_scan(
    access: Access,
    policy: Policy,
    weights: Weights,
    inputs: Float[Array, "time batch 4*cells"],
    start: State,
    memory: Memory,
    window: Window,
    schedule: Schedule,
) -> Path:
    """Does what `lantm.machine.recurrence.recur` does."""
    limit = window.end + access.write_heads * schedule.writes
    write_steps = jnp.max(schedule.writes)
    machinery = Machinery(access, policy)

    def one_step(carry: Any, row: tuple[Array, Array]) -> tuple[Any, Any]:
        t, given = row

        def take(writing: bool) -> tuple[Any, Any]:
            state, memory, window = carry
            state, memory, window, (_, emission, seen) = step(
                machinery, weights, given, state, memory, window, limit, writing
            )
            return (state, memory, window), (state, emission, seen)

        new, rows = lax.cond(t < write_steps, lambda: take(True), lambda: take(False))
        running = t < schedule.steps
        carry = jax.tree.map(lambda after, before: jnp.where(running, after, before), new, carry)
        return carry, jax.tree.map(lambda row: jnp.where(running, row, jnp.zeros_like(row)), rows)

    rows = (jnp.arange(inputs.shape[0]), inputs)
    (state, memory, window), (states, emissions, windows) = lax.scan(one_step, (start, memory, window), rows)
    return Path(states, emissions, windows, state, memory, window)

"""The recurrence through the kernels of `lantm.machine.kernel`: what goes into them, and what comes out."""

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from lantm.machine import by_loops, kernel
from lantm.machine.access import Position
from lantm.machine.controller import CellState
from lantm.machine.kernel import Saved
from lantm.machine.memory import Memory, Window
from lantm.machine.state import Machinery, Pulled, Schedule, State, Weights


def unpack(saved: Saved) -> tuple[State, Float[Array, "time batch emission"]]:
    """The states before and after every step, and the emissions."""
    return State(
        saved.reading, CellState(saved.hidden, saved.cell), Position(saved.keys, saved.actions)
    ), saved.emissions


def as_loops_save(saved: Saved) -> by_loops.Saved:
    """The same as the loops of `lantm.machine.by_loops` save it."""
    time, batch = saved.gates.shape[:2]
    emissions = jnp.concatenate([jnp.zeros_like(saved.emissions[:1]), saved.emissions])
    parts = [part.reshape(time + 1, batch, -1) for part in (*saved[:5], emissions)]
    return by_loops.Saved(jnp.concatenate(parts, axis=-1), saved.gates)


def _numbers(machinery: Machinery, window: Window, schedule: Schedule) -> tuple[Int[Array, " 4"], Int[Array, " batch"]]:
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
) -> tuple[Saved, Memory]:
    """All steps of all problems."""
    begin = (start.reading, *start.controller, *start.position)
    return kernel.forward(machinery, weights, inputs, begin, memory, *_numbers(machinery, window, schedule))


def backward(
    machinery: Machinery,
    weights: Weights,
    saved: Saved,
    memory: Memory,
    window: Window,
    schedule: Schedule,
    d_hidden: Float[Array, "time batch cells"],
) -> Pulled:
    """The cotangents of what `forward` was given, from those of all hidden states; all but the weights'.

    Rows of emissions are those of `saved.hidden`: there is one more than there are steps, so that neither is cut.
    """
    numbers = _numbers(machinery, window, schedule)
    found = kernel.backward(machinery, weights, saved, memory, *numbers, d_hidden)
    return Pulled(
        preactivations=found.preactivations,
        emissions=found.emissions,
        start=State(found.reading, CellState(found.hidden, found.cell), Position(found.keys, found.actions)),
        memory=found.memory,
    )

"""The recurrence by compiled kernels: packs arguments, calls `machine/kernel/calls.py`, unpacks results."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from lantm.machine import by_loops, kernel, state
from lantm.machine.access import Position
from lantm.machine.controller import CellState
from lantm.machine.kernel import Saved, cpu_calls
from lantm.machine.memory import Memory, Window
from lantm.machine.state import Machinery, Pulled, Schedule, State, Weights


def unpack(machinery: Machinery, saved: Saved, schedule: Schedule) -> tuple[State, Float[Array, "time batch emission"]]:
    """The states before and after every step, and the emissions; zeros after the last step."""
    if machinery.kernels is not None and machinery.kernels.place == "cpu":
        # Except for hidden states, rows after the last step are uninitialised. Unused results are not computed.
        run = jnp.arange(saved.hidden.shape[0]) <= schedule.steps

        def cleared(rows: Array, first: int) -> Array:
            return jnp.where(run[first:].reshape(-1, *[1] * (rows.ndim - 1)), rows, 0)

        fields = ("reading", "cell", "keys", "actions")
        saved = saved._replace(**{name: cleared(getattr(saved, name), 0) for name in fields})
        saved = saved._replace(emissions=cleared(saved.emissions, 1))
    return State(
        saved.reading, CellState(saved.hidden, saved.cell), Position(saved.keys, saved.actions)
    ), saved.emissions


def as_loops_save(machinery: Machinery, saved: Saved, schedule: Schedule) -> by_loops.Saved:
    """The saved arrays in the format of `lantm.machine.by_loops`."""
    time, batch = saved.gates.shape[:2]
    states, emissions = unpack(machinery, saved, schedule)
    emissions = jnp.concatenate([jnp.zeros_like(emissions[:1]), emissions])
    parts = [part.reshape(time + 1, batch, -1) for part in (*jax.tree.leaves(states), emissions)]
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
    """Runs all steps of all problems."""
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
    """The cotangents of the arguments of `forward`, except the weights, from those of all hidden states.

    Emissions have as many rows as `saved.hidden`, one more than steps, so that neither has to be cut.
    """
    numbers = _numbers(machinery, window, schedule)
    found = kernel.backward(machinery, weights, saved, memory, *numbers, d_hidden)
    return Pulled(
        preactivations=found.preactivations,
        emissions=found.emissions,
        start=State(found.reading, CellState(found.hidden, found.cell), Position(found.keys, found.actions)),
        memory=found.memory,
    )


def weights_gradient(machinery: Machinery, saved: Saved, pulled: Pulled, schedule: Schedule) -> Weights:
    """The gradients of the weights, from the result of `backward`, whose emissions begin with a row of zeros."""
    if machinery.kernels is None or machinery.kernels.place != "cpu":
        # Hidden states and emissions have the same number of rows: slicing one of them would copy it.
        before = jnp.concatenate([saved.reading[:-1], saved.hidden[:-1]], axis=-1)
        return state.weights_gradient(before, saved.hidden, pulled.preactivations, pulled.emissions)
    steps = schedule.steps
    parts = (saved.reading, saved.hidden)
    recurrent = [cpu_calls.step_products(part, pulled.preactivations, steps).products for part in parts]
    heads = cpu_calls.step_products(saved.hidden, pulled.emissions, steps, first=(1, 1))
    return Weights(jnp.concatenate(recurrent), heads.products, heads.sums)

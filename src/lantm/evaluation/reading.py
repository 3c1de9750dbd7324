"""Runs a model on one piece of a text, with state and memory carried over from the piece before."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PyTree

from lantm.machine import LantmConfig, Model, Schedule, Window
from lantm.machine.state import Carried


def begin(model: Model, batch_size: int, steps: int) -> PyTree:
    """The initial state for a text, with room for a full memory and one more piece of `steps` words."""
    slots = 0
    if isinstance(model.config, LantmConfig):
        assert model.config.memory_limit is not None
        slots = steps - (1 - model.config.memory_limit) // model.config.write_heads
    return model.begin(batch_size, slots)


def read_piece(
    model: Model, inputs: Int[Array, "steps batch"], carried: PyTree, at: Int[Array, ""]
) -> tuple[Float[Array, "steps batch cells"], PyTree]:
    """Reads piece number `at`; all its steps write. Piece 0 starts from the initial state instead of `carried`."""
    steps, batch_size = inputs.shape
    fresh = begin(model, batch_size, steps)
    carried = jax.tree.map(lambda new, old: jnp.where(at == 0, new, old), fresh, carried)
    if isinstance(carried, Carried):
        carried = carried._replace(window=_window(model.config, fresh.window, at * steps))
    # Constants at compile time: loops of known length need no synchronisation with the host.
    schedule = Schedule(jnp.asarray(steps, jnp.int32), jnp.full(batch_size, steps, jnp.int32))
    return model.run(inputs, schedule, carried)


def _window(config: LantmConfig, start: Window, steps: Int[Array, ""]) -> Window:
    """The window of the memory after this many steps, with the oldest memory first.

    It is computed from the number of steps alone, so it is the same for all seeds and memory slices are shared (see
    `lantm.machine.loops`).
    """
    first, end = config.policy.window(start, config.write_heads * steps)
    return Window(jnp.zeros_like(first), end - first)

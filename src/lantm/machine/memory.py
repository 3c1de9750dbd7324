"""The memory: an append-only store of (address, vector, strength), and the policies for a full memory.

A memory is written into slots one after the other and nothing is ever overwritten, so the memory of any
earlier time is a window of the final one. The backward pass rests on this: it keeps one memory, not one
per step (see `lantm.machine.recurrence`).
"""

import abc
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from lantm.errors import LantmError


class Memory(NamedTuple):
    """What is stored. A problem's memories lie side by side, so that a reading is a product of its own matrix."""

    addresses: Float[Array, "batch slots key"]
    vectors: Float[Array, "batch slots width"]
    strengths: Float[Array, "batch slots"]


class Window(NamedTuple):
    """Which slots hold memories that are still remembered: first <= slot < end."""

    first: Int[Array, ""]
    end: Int[Array, ""]


def append(memory: Memory, new: Memory, at: Int[Array, ""]) -> Memory:
    """Writes the slots of `new` from slot `at` on."""
    return Memory(
        *(lax.dynamic_update_slice_in_dim(field, slots, at, axis=1) for field, slots in zip(memory, new, strict=True))
    )


def visible(slots: int, window: Window, limit: Int[Array, "batch"]) -> Bool[Array, "batch slots"]:
    """Which slots each problem of a batch can read.

    `limit` is the slot where the problem's own writing ended: problems of different lengths share a batch.
    """
    slot = jnp.arange(slots)
    return (slot >= window.first) & (slot < jnp.minimum(window.end, limit)[:, None])


def compact(memory: Memory, window: Window) -> tuple[Memory, Window]:
    """Moves the window to the front, so that the slots behind it are free for further writing."""
    rolled = Memory(*(jnp.roll(field, -window.first, axis=1) for field in memory))
    return rolled, Window(jnp.zeros_like(window.first), window.end - window.first)


class Policy(eqx.Module):
    """What is forgotten when."""

    @abc.abstractmethod
    def window(self, start: Window, written: Int[Array, "*times"]) -> Window:
        """What is still remembered of a memory with window `start` after `written` more slots were written."""


class Grow(Policy):
    """Nothing is ever forgotten: for problems with an end (the sequence tasks and programs)."""

    def window(self, start: Window, written: Int[Array, "*times"]) -> Window:
        return Window(jnp.broadcast_to(start.first, jnp.shape(written)), start.end + written)


LARGEST_MEMORY = 2**31 - 1
"""The most memories that can be counted: programs are compiled with 32 bits."""


class DropOldest(Policy):
    """A memory filled to `limit` loses its `drop` oldest vectors: for continuous use (language modelling)."""

    limit: int = 100
    drop: int = 60

    def __check_init__(self) -> None:
        if not 0 < self.drop <= self.limit:
            raise LantmError(
                f"a memory of {self.limit} cannot drop its oldest {self.drop}: "
                "give 0 < drop <= limit (the paper's are 60 and 100)"
            )
        if self.limit > LARGEST_MEMORY:
            raise LantmError(f"memory_limit is {self.limit}: give a whole number up to {LARGEST_MEMORY:,}")

    def window(self, start: Window, written: Int[Array, "*times"]) -> Window:
        surplus = start.end - start.first + written - self.limit
        drops = jnp.maximum(surplus // self.drop + 1, 0)
        return Window(start.first + self.drop * drops, start.end + written)

"""The memory: an append-only store of (address, vector, strength), and the policies for a full memory.

Memories are written into consecutive slots and never overwritten, so the memory at any earlier time is a window of the
final one. The backward pass relies on this: it keeps one memory, not one per step (see `lantm.machine.recurrence`).
"""

import abc
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from lantm.errors import LantmError


class Memory(NamedTuple):
    """The stored memories. Each problem's slots are contiguous, so a reading is a matrix product per problem."""

    addresses: Float[Array, "batch slots key"]
    vectors: Float[Array, "batch slots width"]
    strengths: Float[Array, "batch slots"]


class Window(NamedTuple):
    """The range of slots that are still remembered: first <= slot < end."""

    first: Int[Array, ""]
    end: Int[Array, ""]


def append(memory: Memory, new: Memory, at: Int[Array, ""]) -> Memory:
    """Writes the slots of `new` from slot `at` on."""
    return Memory(
        *(lax.dynamic_update_slice_in_dim(field, slots, at, axis=1) for field, slots in zip(memory, new, strict=True))
    )


def visible(slots: int, window: Window, limit: Int[Array, "batch"]) -> Bool[Array, "batch slots"]:
    """Which slots each problem of a batch can read.

    `limit` is the slot where the problem's own writing ended, since problems of a batch differ in length.
    """
    slot = jnp.arange(slots)
    return (slot >= window.first) & (slot < jnp.minimum(window.end, limit)[:, None])


def compact(memory: Memory, window: Window) -> tuple[Memory, Window]:
    """Moves the window to the front, so that the slots after it are free."""
    rolled = Memory(*(jnp.roll(field, -window.first, axis=1) for field in memory))
    return rolled, Window(jnp.zeros_like(window.first), window.end - window.first)


class Policy(eqx.Module):
    """Which memories are kept."""

    @abc.abstractmethod
    def window(self, start: Window, written: Int[Array, "*times"]) -> Window:
        """The window of a memory with initial window `start` after `written` more slots were written."""


class Grow(Policy):
    """Nothing is forgotten: for problems of finite length (sequence tasks and programs)."""

    def window(self, start: Window, written: Int[Array, "*times"]) -> Window:
        return Window(jnp.broadcast_to(start.first, jnp.shape(written)), start.end + written)


LARGEST_MEMORY = 2**31 - 1
"""The largest possible number of memories: slot numbers are 32-bit integers."""


class DropOldest(Policy):
    """When the memory reaches `limit`, the `drop` oldest are forgotten: for continuous use (language modelling)."""

    limit: int = 100
    drop: int = 60

    def __check_init__(self) -> None:
        if not 0 < self.drop <= self.limit:
            raise LantmError(
                f"memory_limit is {self.limit} and memory_drop is {self.drop}: "
                "give 0 < memory_drop <= memory_limit (the paper's are 60 and 100)"
            )
        if self.limit > LARGEST_MEMORY:
            raise LantmError(f"memory_limit is {self.limit}: give a whole number up to {LARGEST_MEMORY:,}")

    def window(self, start: Window, written: Int[Array, "*times"]) -> Window:
        surplus = start.end - start.first + written - self.limit
        drops = jnp.maximum(surplus // self.drop + 1, 0)
        return Window(start.first + self.drop * drops, start.end + written)

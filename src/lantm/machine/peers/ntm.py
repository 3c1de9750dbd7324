"""The neural Turing machine (Graves, Wayne and Danihelka, 2014): cells addressed by content and by shifts.

The memory is a ring with as many cells as the input has steps. All cells have the same initial value, and both heads
start at the first cell, so no parameter depends on the number of cells.
"""

import dataclasses
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from lantm.machine.model import ModelName
from lantm.machine.peers.recurrent import MemoryConfig, split, turned

_EMPTY = 1e-6  # initial value of all components: a cosine with a zero vector has no gradient
_SMALL = 1e-8  # added below the root of a cosine's denominator, so that an empty cell has a cosine near 0
_TINY = 1e-30


class Cells(NamedTuple):
    """The memory, and the weights of the two heads."""

    cells: Float[Array, "batch slots width"]
    read: Float[Array, "batch slots"]
    write: Float[Array, "batch slots"]


@dataclasses.dataclass(frozen=True)
class NtmConfig(MemoryConfig):
    """The neural Turing machine, with one read head and one write head."""

    @property
    def model_name(self) -> ModelName:
        """`ntm`."""
        return "ntm"

    @property
    def _of_head(self) -> tuple[int, ...]:
        """Sizes of a head's emission: a key, its strength, a gate, three shifts, a sharpening."""
        return (self.memory_width, 1, 1, 3, 1)

    @property
    def emission(self) -> int:
        """Two heads, and the erase and add vectors of the write head."""
        return 2 * sum(self._of_head) + 2 * self.memory_width

    def empty(self, batch_size: int, slots: int) -> tuple[Cells, None]:
        """One cell per input step."""
        first = jnp.zeros((batch_size, slots)).at[:, 0].set(1.0)
        return Cells(jnp.full((batch_size, slots, self.memory_width), _EMPTY), first, first), None

    def access(
        self,
        emitted: Float[Array, "batch emission"],
        memory: Cells,
        log: None,
        at: Int[Array, ""],
        writes: Int[Array, " batch"],
    ) -> tuple[Float[Array, "batch width"], Cells, None]:
        """Reads, then erases and adds; also while answering, since the NTM marks its progress in the memory."""
        size = sum(self._of_head)
        of_read, of_write, erase, add = split(emitted, size, size, self.memory_width, self.memory_width)
        read, write = (
            self._address(of_head, memory.cells, before, writes)
            for of_head, before in ((of_read, memory.read), (of_write, memory.write))
        )
        reading = jnp.einsum("bs,bsw->bw", read, memory.cells)
        erased = memory.cells * (1 - write[..., None] * jax.nn.sigmoid(erase)[:, None])
        return reading, Cells(erased + write[..., None] * jnp.tanh(add)[:, None], read, write), None

    def _address(
        self,
        emitted: Float[Array, "batch head"],
        cells: Float[Array, "batch slots width"],
        before: Float[Array, "batch slots"],
        size: Int[Array, " batch"],
    ) -> Float[Array, "batch slots"]:
        """The weights of a head, in the four stages of section 3.3 of the NTM paper."""
        key, strength, gate, shift, sharpening = split(emitted, *self._of_head)
        there = jnp.arange(cells.shape[1]) < size[:, None]
        # Content, interpolation, shift, sharpening.
        lengths = jnp.sqrt(jnp.sum(key**2, axis=-1)[:, None] * jnp.sum(cells**2, axis=-1) + _SMALL)
        cosine = jnp.einsum("bw,bsw->bs", key, cells) / lengths
        content = jax.nn.softmax(jnp.where(there, jax.nn.softplus(strength) * cosine, -1e30), axis=-1)
        gate = jax.nn.sigmoid(gate)
        mixed = gate * content + (1 - gate) * before
        moves = jax.nn.softmax(shift)
        back, on = turned(mixed, -1, size), turned(mixed, 1, size)
        moved = moves[:, :1] * back + moves[:, 1:2] * mixed + moves[:, 2:] * on
        # The power of zero has no gradient; cells beyond the ring are set to zero again.
        sharp = jnp.where(there, (moved + _TINY) ** (1 + jax.nn.softplus(sharpening)), 0)
        return sharp / (jnp.sum(sharp, axis=-1, keepdims=True) + _TINY)

"""RAM and RAM/tape, the baselines of the authors' second paper (Yang and Rush, 2017, section 5).

Both append a memory with a key at every input step, as the Lie access machine does, and read by comparing a query with
the stored keys. In RAM every key comes from the controller. RAM/tape can also read next to its last read, in the order
of writing.
"""

import dataclasses
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from lantm.errors import check_at_least_one
from lantm.machine.model import ModelName
from lantm.machine.peers.recurrent import MemoryConfig, split


class Cards(NamedTuple):
    """The memories in the order of writing, or one of them, without the second axis."""

    keys: Float[Array, "batch *slots key"]
    vectors: Float[Array, "batch *slots width"]
    strengths: Float[Array, "batch *slots"]  # logarithms


@dataclasses.dataclass(frozen=True)
class RamConfig(MemoryConfig):
    """RAM: a query from the controller is compared with stored keys; with `tape` the head can also move."""

    key_size: int = 20
    """Size of a key; the second paper uses 2 and 20."""
    tape: bool = False
    """RAM/tape: let the read head also move along the memories, in the order of writing."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_at_least_one(self, "key_size")

    @property
    def model_name(self) -> ModelName:
        """`ram` or `ram-tape`."""
        return "ram-tape" if self.tape else "ram"

    @property
    def emission(self) -> int:
        """Two keys, a strength, a vector; for the tape also a gate and three moves."""
        return 2 * self.key_size + 1 + self.memory_width + 4 * self.tape

    def empty(self, batch_size: int, slots: int) -> tuple[Float[Array, "batch rows"] | None, Cards]:
        """The last read weights of a tape, whose head is at the first memory; a memory per input step, and one more."""
        rows = slots + 1
        place = jnp.zeros((batch_size, rows)).at[:, 0].set(1.0) if self.tape else None
        keys, vectors = (jnp.zeros((batch_size, rows, size)) for size in (self.key_size, self.memory_width))
        return place, Cards(keys, vectors, jnp.zeros((batch_size, rows)))

    def access(
        self,
        emitted: Float[Array, "batch emission"],
        memory: Float[Array, "batch rows"] | None,
        log: Cards,
        at: Int[Array, ""],
        writes: Int[Array, " batch"],
    ) -> tuple[Float[Array, "batch width"], Float[Array, "batch rows"] | None, Cards]:
        """Reads, then appends; what is appended after a problem's input is never read."""
        sizes = (self.key_size, self.key_size, 1, self.memory_width, *((1, 3) if self.tape else ()))
        query, key, strength, vector, *moves = split(emitted, *sizes)
        count = jnp.minimum(at, writes)
        written = jnp.arange(log.strengths.shape[1]) < count[:, None]
        weights = by_content(query, log, written)
        if memory is not None:
            gate, shifts = jax.nn.sigmoid(moves[0]), jax.nn.softmax(moves[1])
            memory = weights = gate * weights + (1 - gate) * shifted(memory, shifts, count)
        reading = jnp.einsum("bs,bsw->bw", jnp.where(written, weights, 0), log.vectors)
        return reading, memory, Cards(key, jnp.tanh(vector), jax.nn.log_sigmoid(strength[:, 0]))


def by_content(
    query: Float[Array, "batch key"], log: Cards, written: Bool[Array, "batch rows"]
) -> Float[Array, "batch rows"]:
    """Read weights: softmax of the products of query and keys; zero while nothing is written."""
    products = jnp.einsum("bk,bsk->bs", query, log.keys) + log.strengths
    # A finite stand-in for -inf avoids nan gradients where nothing is written.
    weights = jax.nn.softmax(jnp.where(written, products, -1e30), axis=-1)
    return jnp.where(written, weights, 0)


def shifted(
    place: Float[Array, "batch rows"], shifts: Float[Array, "batch 3"], written: Int[Array, " batch"]
) -> Float[Array, "batch rows"]:
    """Read weights shifted back, kept, or shifted forward by one memory; weights at either end stay there."""
    slots = jnp.arange(place.shape[1])
    last = jnp.maximum(written - 1, 0)[:, None]
    at_first, at_last = jnp.where(slots == 0, place, 0), jnp.where(slots == last, place, 0)
    back = jnp.roll(place - at_first, -1, axis=1) + at_first
    on = jnp.roll(place - at_last, 1, axis=1) + at_last
    return shifts[:, :1] * back + shifts[:, 1:2] * place + shifts[:, 2:] * on

"""The tape RNN of the Chomsky-hierarchy benchmark (Deletang et al., 2023), with the LSTM controller of the other peers.

The head writes the current cell and then moves or stays. Moves are soft: the next tape is the weighted mean of the
tapes after each move. As in the benchmark, two of the moves are jumps by the length of the input, which is given to the
model.

The tape is a ring with twice as many cells as the input has steps, plus one, so that a jump forward and a jump back end
at different cells.
"""

import dataclasses

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from lantm.machine.model import ModelName
from lantm.machine.peers.recurrent import MemoryConfig, rolled, split, turned


@dataclasses.dataclass(frozen=True)
class TapeRnnConfig(MemoryConfig):
    """An LSTM controller with a tape."""

    jumps: bool = True
    """Whether the head can also move by the length of the input, which is given to the model."""

    @property
    def model_name(self) -> ModelName:
        """`tape-rnn`."""
        return "tape-rnn"

    @property
    def emission(self) -> int:
        """The written vector, and a weight for every move."""
        return self.memory_width + (5 if self.jumps else 3)

    def empty(self, batch_size: int, slots: int) -> tuple[Float[Array, "batch cells width"], None]:
        """The tape relative to the head: the head's cell is the first."""
        return jnp.zeros((batch_size, 2 * slots + 1, self.memory_width)), None

    def access(
        self,
        emitted: Float[Array, "batch emission"],
        memory: Float[Array, "batch cells width"],
        log: None,
        at: Int[Array, ""],
        writes: Int[Array, " batch"],
    ) -> tuple[Float[Array, "batch width"], Float[Array, "batch cells width"], None]:
        """Writes, moves, and reads the new cell."""
        vector, moves = split(emitted, self.memory_width, 5 if self.jumps else 3)
        shares = jax.nn.softmax(moves)
        written = jnp.concatenate([vector[:, None], memory[:, 1:]], axis=1)
        size = 2 * writes + 1
        # The head stays, moves left and right, and jumps back and on; the tape moves the other way relative to it.
        after = [written, turned(written, 1, size), turned(written, -1, size)]
        after += [rolled(written, writes, size), rolled(written, -writes, size)] if self.jumps else []
        memory = sum(share[:, None, None] * one for share, one in zip(shares.T, after, strict=True))
        return memory[:, 0], memory, None

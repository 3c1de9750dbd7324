"""A text as a source: read word by word, in pieces with carried state, and shown as stretches of its words."""

import dataclasses
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, PRNGKeyArray

from lantm.batch import Batch
from lantm.errors import LantmError
from lantm.tasks.base import check_text
from lantm.tasks.corpus import UNKNOWN, Corpus, Part
from lantm.tasks.lengths import Length, Lengths
from lantm.tasks.pieces import Pieces, cut


@dataclasses.dataclass(frozen=True, eq=False)
class Text:
    """A corpus, and how many words of a column gradients go back through.

    Machines are trained on pieces of all of it, in columns side by side, with state and memory carried from piece to
    piece. To look at a machine, a stretch of the validation text stands for a problem: every word is read and
    written, and at every step the next word is to be guessed.
    """

    name: ClassVar[str] = "text"

    corpus: Corpus
    steps: int = 20

    @property
    def vocabulary(self) -> int:
        """The number of different words."""
        return len(self.corpus.words)

    @property
    def data_symbols(self) -> int:
        """All words are data."""
        return self.vocabulary

    @property
    def end_of_output(self) -> int:
        """The number of `<eos>`."""
        return self.corpus.end

    @property
    def train_lengths(self) -> Lengths:
        """The words of a piece."""
        return Lengths(self.steps, self.steps)

    @property
    def longest_length(self) -> int:
        """The words of the validation text."""
        return len(self.corpus.valid)

    def symbol_name(self, symbol: int) -> str:
        """A word."""
        return self.corpus.words[symbol]

    def check_length(self, length: int) -> None:
        """Raises a `LantmError` when the validation text has no stretch of so many words."""
        if not 1 <= length <= self.longest_length:
            raise LantmError(f"the validation text has no {length:,} words in a row: use 1 to {self.longest_length:,}")

    def pieces(self, part: Part, batch_size: int) -> Pieces:
        """A part of the text as columns, cut into pieces."""
        return cut(self.corpus.part(part), batch_size, self.steps, self.corpus.end)

    def sample(self, key: PRNGKeyArray, batch_size: int, length: Length, capacity_length: int) -> Batch:
        """Random stretches of the validation text."""
        valid = jnp.asarray(self.corpus.valid, jnp.int32)
        before = jnp.concatenate([jnp.array([self.corpus.end], jnp.int32), valid[:-1]])
        first = jax.random.randint(key, (batch_size,), 0, self.longest_length - capacity_length + 1)
        rows = first + jnp.arange(capacity_length)[:, None]
        return _stretch(before[rows], valid[rows], jnp.broadcast_to(jnp.asarray(length, jnp.int32), (batch_size,)))

    def encode(self, text: str) -> Batch:
        """The words a person wrote; those that the vocabulary lacks are `<unk>`, and so is the unknown next one."""
        check_text(self.name, text)
        numbers = {word: number for number, word in enumerate(self.corpus.words)}
        unknown = numbers[UNKNOWN]
        words = [numbers.get(word, unknown) for word in text.split()]
        if not words:
            raise LantmError("there are no words to read: give at least one")
        read = np.array([self.corpus.end, *words], np.int32)[:, None]
        to_guess = np.array([*words, unknown], np.int32)[:, None]
        return _stretch(jnp.asarray(read), jnp.asarray(to_guess), jnp.array([len(read)], jnp.int32))


def _stretch(inputs: Int[Array, "time batch"], targets: Int[Array, "time batch"], sizes: Int[Array, " batch"]) -> Batch:
    """Words to read, each with the word to guess after it; every step writes."""
    time = inputs.shape[0]
    return Batch(
        inputs,
        targets,
        jnp.arange(time)[:, None] < sizes,
        jnp.max(sizes),
        sizes,
        write_capacity=time,
        answer_capacity=time,
    )

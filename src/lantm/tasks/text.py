"""`Text`: a corpus as training source (in pieces with carried state), and short passages of it for display."""

import dataclasses
from typing import ClassVar, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, PRNGKeyArray

from lantm.batch import Batch
from lantm.errors import LantmError
from lantm.tasks.base import Task, check_text
from lantm.tasks.corpus import UNKNOWN, Corpus, Part
from lantm.tasks.lengths import Length, Lengths
from lantm.tasks.pieces import Pieces, cut

LONGEST_TEXT = 100_000  # maximum characters of a typed text


@dataclasses.dataclass(frozen=True, eq=False)
class Text:
    """A corpus, read in pieces of `steps` words: the length of backpropagation through time.

    Machines are trained on the whole training text, in parallel columns, with state and memory carried from piece to
    piece. For display, a passage of the validation text serves as a problem: every step reads and writes a word, and
    the target is the next word.
    """

    name: ClassVar[str] = "text"

    corpus: Corpus
    steps: int = 20

    @property
    def vocabulary(self) -> int:
        """The size of the vocabulary."""
        return len(self.corpus.words)

    @property
    def data_symbols(self) -> int:
        """The size of the vocabulary."""
        return self.vocabulary

    @property
    def end_of_output(self) -> int:
        """The index of `<eos>` in the vocabulary."""
        return self.corpus.end

    @property
    def train_lengths(self) -> Lengths:
        """The number of words of a piece, or of the validation text if that is shorter."""
        words = min(self.steps, self.longest_length or self.steps)
        return Lengths(words, words)

    @property
    def longest_length(self) -> int:
        """The number of words of the validation text."""
        return len(self.corpus.valid)

    def symbol_name(self, symbol: int) -> str:
        """The word with this index."""
        return self.corpus.words[symbol]

    def check_length(self, length: int) -> None:
        """Raises a `LantmError` if the validation text is shorter than `length` words."""
        self._check_there_is_one()
        if not 1 <= length <= self.longest_length:
            raise LantmError(f"the validation text has no {length:,} words in a row: use 1 to {self.longest_length:,}")

    def pieces(self, part: Part, batch_size: int) -> Pieces:
        """A part of the text as columns, cut into pieces."""
        self._check_there_is_one()
        return cut(self.corpus.part(part), batch_size, self.steps, self.corpus.end)

    def _check_there_is_one(self) -> None:
        """A machine's file stores the vocabulary of its text, which suffices to read typed text, but not the text."""
        if not len(self.corpus.valid):
            raise LantmError("the words of the text are known but not the text itself: name its folder with --data")

    def sample(self, key: PRNGKeyArray, batch_size: int, length: Length, capacity_length: int) -> Batch:
        """Random passages of the validation text."""
        valid = jnp.asarray(self.corpus.valid, jnp.int32)
        before = jnp.concatenate([jnp.array([self.corpus.end], jnp.int32), valid[:-1]])
        first = jax.random.randint(key, (batch_size,), 0, self.longest_length - capacity_length + 1)
        rows = first + jnp.arange(capacity_length)[:, None]
        return _passages(before[rows], valid[rows], jnp.broadcast_to(jnp.asarray(length, jnp.int32), (batch_size,)))

    def encode(self, text: str) -> Batch:
        """A batch of the words in `text`; unknown words become `<unk>`, and so does the target of the last word."""
        check_text(self.name, text, LONGEST_TEXT)
        numbers = {word: number for number, word in enumerate(self.corpus.words)}
        unknown = numbers[UNKNOWN]
        words = [numbers.get(word, unknown) for word in text.split()]
        if not words:
            raise LantmError("there are no words to read: give at least one")
        read = np.array([self.corpus.end, *words], np.int32)[:, None]
        next_words = np.array([*words, unknown], np.int32)[:, None]
        return _passages(jnp.asarray(read), jnp.asarray(next_words), jnp.array([len(read)], jnp.int32))


Source: TypeAlias = Task | Text
"""What machines are trained on; both kinds are traced and displayed by the same code."""


def _passages(
    inputs: Int[Array, "time batch"], targets: Int[Array, "time batch"], sizes: Int[Array, " batch"]
) -> Batch:
    """A batch of passages; the machine writes and has a target at every step."""
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

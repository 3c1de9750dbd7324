"""`Source`: the interface shared by `Task` and `Text`, so that both are traced and displayed by the same code.

`Task` and `Text` are the two kinds of source.
"""

from typing import Protocol, runtime_checkable

from jaxtyping import PRNGKeyArray

from lantm.batch import Batch
from lantm.tasks.lengths import Length, Lengths


@runtime_checkable
class Source(Protocol):
    """A source of symbol sequences for a machine."""

    @property
    def name(self) -> str:
        """The name of the source."""

    @property
    def vocabulary(self) -> int:
        """The number of symbols of all kinds."""

    @property
    def data_symbols(self) -> int:
        """The number of symbols that are not markers, numbered from 0."""

    @property
    def end_of_output(self) -> int:
        """The symbol that ends an answer, or a line of a text."""

    @property
    def train_lengths(self) -> Lengths:
        """The lengths to train on."""

    @property
    def longest_length(self) -> int:
        """The largest length of a sequence."""

    def symbol_name(self, symbol: int) -> str:
        """A symbol as it is displayed."""

    def check_length(self, length: int) -> None:
        """Raises a `LantmError` if there are no sequences of this length."""

    def sample(self, key: PRNGKeyArray, batch_size: int, length: Length, capacity_length: int) -> Batch:
        """Random sequences of a length, in arrays with capacity for `capacity_length`."""

    def encode(self, text: str) -> Batch:
        """A batch of the single sequence written in `text`; raises a `LantmError` if it is invalid."""

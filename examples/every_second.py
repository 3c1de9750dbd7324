"""A task of your own, in one file: keep every second symbol.

    input    a b c d e
    output   a c e

From the folder that holds `examples`:

    lantm train examples.every_second:EverySecond
"""

from typing import ClassVar

import equinox as eqx
from jaxtyping import Array, Int

from lantm.tasks import Count, Lengths, SequenceTask


class EverySecond(SequenceTask):
    """`a b c d e` gives `a c e`."""

    name: ClassVar[str] = "everySecond"
    train_lengths: Lengths = eqx.field(static=True, default=Lengths(2, 32))

    def output_size(self, length: Count) -> Count:
        """Half as many, rounded up: the first symbol is kept."""
        return (length + 1) // 2

    def output(self, symbols: Int[Array, " input"], length: Int[Array, ""]) -> Int[Array, " output"]:
        """The first symbol, the third, and so on."""
        return symbols[::2]

    def expected(self, text: str) -> str:
        """The answer to a text, in plain Python."""
        return text[::2]

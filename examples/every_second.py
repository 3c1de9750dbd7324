"""A task of your own, in one file: keep every second symbol.

    input    a b c d e
    output   a c e

From the folder that holds `examples`:

    lantm train examples.every_second:EverySecond
"""

from collections.abc import Mapping
from typing import ClassVar

import equinox as eqx
from jaxtyping import Array, Int, PRNGKeyArray

from lantm.tasks import Count, HardDraw, Lengths, SequenceTask


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

    def hard_draws(self) -> Mapping[str, HardDraw]:
        """The patterns of all sequences, and one more kind."""
        return {**super().hard_draws(), "blanks between": self.blanks_between}

    def blanks_between(self, key: PRNGKeyArray, length: Int[Array, ""], room: int) -> Int[Array, " {room}"]:
        """`a b c`: blanks, which are symbol 0, at all places that are dropped."""
        return self.draw(key, length, room).at[1::2].set(0)

    def expected(self, text: str) -> str:
        """The answer to a text, in plain Python."""
        return text[::2]

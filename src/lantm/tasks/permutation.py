"""The permutation tasks (section 4.1), such as copy and reverse: the output is a permutation of the input."""

from collections.abc import Mapping, Sequence
from typing import ClassVar, final

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Int

from lantm.errors import LantmError
from lantm.tasks.base import Count
from lantm.tasks.lengths import Lengths
from lantm.tasks.sized import HardDraw, SizedTask

PRINTABLE_ASCII = "".join(map(chr, range(ord(" "), ord("~") + 1)))
GREEK_LETTERS = "αβγδεζηθκλμξπρστφχψωΓΔΘΛΞΠΣΦΨΩ"  # those that differ from Latin letters


class SequenceTask(SizedTask):
    """A task on sequences of characters: text in, text out.

    The paper's vocabulary of 128 is taken as 125 data symbols and three markers, which its parameter counts require;
    `data_symbols=128` is the other interpretation, with a vocabulary of 131.
    """

    data_symbols: int = eqx.field(static=True, default=125)
    unused_symbols: ClassVar[int] = 0
    alphabet: ClassVar[str] = PRINTABLE_ASCII + GREEK_LETTERS

    def input_size(self, length: Count) -> Count:
        """One symbol per unit of length by default."""
        return length

    def output_size(self, length: Count) -> Count:
        """As many symbols as the input by default."""
        return self.input_size(length)

    def hard_draws(self) -> Mapping[str, HardDraw]:
        """Patterns of symbols by default."""
        return self.pattern_draws()

    def read(self, text: str) -> list[int]:
        """The symbol of each character by default."""
        return self.read_characters(text)

    @final
    def read_characters(self, text: str) -> list[int]:
        """The symbol of each character."""
        characters = self.alphabet[: self.data_symbols]
        for character in text:
            if character not in characters:
                raise LantmError(f"{self.name} has no symbol for {character!r}: use only the characters “{characters}”")
        return [characters.index(character) for character in text]

    @final
    def show(self, names: Sequence[str]) -> str:
        """The characters, joined."""
        return "".join(names)


class Copy(SequenceTask):
    """`a1 a2 .. ak` gives `a1 a2 .. ak`.

    >>> Copy().expected("abc")
    'abc'
    """

    name: ClassVar[str] = "copy"
    train_lengths: Lengths = eqx.field(static=True, default=Lengths(2, 64))

    def output(self, symbols: Int[Array, " input"], length: Int[Array, ""]) -> Int[Array, " input"]:
        """The input."""
        return symbols

    def expected(self, text: str) -> str:
        """The text."""
        return text


class Reverse(SequenceTask):
    """`a1 a2 .. ak` gives `ak .. a2 a1`.

    >>> Reverse().expected("abc")
    'cba'
    """

    name: ClassVar[str] = "reverse"
    train_lengths: Lengths = eqx.field(static=True, default=Lengths(2, 64))

    def output(self, symbols: Int[Array, " input"], length: Int[Array, ""]) -> Int[Array, " input"]:
        """The input, reversed."""
        return jnp.take(symbols, length - 1 - jnp.arange(symbols.size), mode="clip")

    def expected(self, text: str) -> str:
        """The text, reversed."""
        return text[::-1]


class BigramFlip(SequenceTask):
    """`a1 a2 a3 a4 ..` gives `a2 a1 a4 a3 ..`.

    >>> BigramFlip().expected("abcd")
    'badc'

    The paper's lengths 2 to 32 are taken as numbers of symbols, so they are even; with `unit="bigrams"` lengths count
    bigrams, and inputs have twice as many symbols.
    """

    name: ClassVar[str] = "bigramFlip"
    train_lengths: Lengths = eqx.field(static=True, default=Lengths(2, 32, stride=2))
    unit: str = eqx.field(static=True, default="symbols")

    def __init__(
        self,
        data_symbols: int = SequenceTask.data_symbols,
        train_lengths: Lengths | None = None,
        unit: str = "symbols",
    ) -> None:
        if unit not in ("symbols", "bigrams"):
            raise LantmError(f"bigramFlip cannot count lengths in {unit!r}: use 'symbols' or 'bigrams'")
        if train_lengths is None:
            train_lengths = BigramFlip.train_lengths if unit == "symbols" else Lengths(2, 32)
        if unit == "symbols" and train_lengths.stride % 2:
            raise LantmError("bigramFlip cannot flip half a bigram: use lengths of stride 2")
        self.data_symbols = data_symbols
        self.train_lengths = train_lengths
        self.unit = unit

    def input_size(self, length: Count) -> Count:
        """The length in symbols."""
        return length if self.unit == "symbols" else 2 * length

    def output(self, symbols: Int[Array, " input"], length: Int[Array, ""]) -> Int[Array, " input"]:
        """The input with the two symbols of every bigram swapped."""
        return symbols.reshape(-1, 2)[:, ::-1].reshape(-1)

    def expected(self, text: str) -> str:
        """The text with the two characters of every bigram swapped."""
        return "".join(second + first for first, second in zip(text[::2], text[1::2], strict=True))


class OddFirst(SequenceTask):
    """`a1 a2 a3 a4 ..` gives `a1 a3 .. a2 a4 ..`: the symbols at odd positions, then those at even positions.

    >>> OddFirst().expected("abcdef")
    'acebdf'

    A task of the second paper (docs/second-paper.md) with even lengths.
    """

    name: ClassVar[str] = "oddFirst"
    train_lengths: Lengths = eqx.field(static=True, default=Lengths(2, 32, stride=2))

    def output(self, symbols: Int[Array, " input"], length: Int[Array, ""]) -> Int[Array, " input"]:
        """The symbols at odd positions, then those at even positions, counted from 1."""
        at, odd = jnp.arange(symbols.size), (length + 1) // 2
        return jnp.take(symbols, jnp.where(at < odd, 2 * at, 2 * (at - odd) + 1), mode="clip")

    def expected(self, text: str) -> str:
        """The characters at odd positions, then those at even positions."""
        return text[::2] + text[1::2]

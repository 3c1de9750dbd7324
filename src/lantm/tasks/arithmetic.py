"""The arithmetic tasks (section 4.1): addition and doubling, least significant digit first."""

import decimal
import functools
import reprlib
from collections.abc import Mapping, Sequence
from typing import ClassVar, final

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, PRNGKeyArray

from lantm.errors import LantmError
from lantm.tasks.base import Count
from lantm.tasks.hard_numbers import NUMBERS, PAIRS, Pair
from lantm.tasks.lengths import Lengths
from lantm.tasks.sized import HardDraw, SizedTask


class NumberTask(SizedTask):
    """A task on decimal numbers of `length` digits each, padded with zeros.

    A number is uniform in [0, 10^k) for k digits, so its digits are independent and uniform. (The appendix
    of the paper writes [0, 10^k], but 10^k has k + 1 digits.)

    The paper's vocabulary of 14 is taken as ten digits, three markers and one unused symbol, which its parameter counts
    require; `unused_symbols=0` omits the unused one.
    """

    data_symbols: ClassVar[int] = 10
    unused_symbols: int = eqx.field(static=True, default=1)
    alphabet: ClassVar[str] = "0123456789"

    @property
    def lowest_first(self) -> bool:
        """Whether the least significant digit comes first, as in the paper."""
        return True

    @final
    def show(self, names: Sequence[str]) -> str:
        """The number with its most significant digit first and without leading zeros."""
        digits = reversed(names) if self.lowest_first else names
        return "".join(digits).lstrip("0") or "0" * bool(names)

    @final
    def read_number(self, text: str) -> str:
        """The digits in `text` as written, most significant first, including leading zeros."""
        digits = text.strip()
        if not digits or not set(digits) <= set(self.alphabet):
            raise LantmError(f"{self.name} cannot read {reprlib.repr(digits)} as a number: write digits 0 to 9 only")
        return digits


class Double(NumberTask):
    """x in k digits gives 2x in k + 1 digits: 829 is written `9 2 8`, and 2 * 829 = 1658 is written `8 5 6 1`.

    >>> Double().expected("829")
    '1658'

    In the second paper the most significant digit comes first: with `highest_first`, 829 is written `8 2 9`, and 1658
    is written `1 6 5 8`. The task's name is then `double[highest_first=true]`.
    """

    name: ClassVar[str] = "double"
    train_lengths: Lengths = eqx.field(static=True, default=Lengths(2, 40))
    highest_first: bool = eqx.field(static=True, default=False)

    @property
    def lowest_first(self) -> bool:
        """As set by `highest_first`."""
        return not self.highest_first

    def input_size(self, length: Count) -> Count:
        """The number of digits of x."""
        return length

    def output_size(self, length: Count) -> Count:
        """One more digit."""
        return length + 1

    def output(self, symbols: Int[Array, " input"], length: Int[Array, ""]) -> Int[Array, " input+1"]:
        """The digits of x + x."""
        if self.lowest_first:
            return add_digits(symbols, symbols)
        digits = jnp.where(jnp.arange(symbols.size) < length, _turned(symbols, length), 0)
        return _turned(add_digits(digits, digits), length + 1)

    def read(self, text: str) -> list[int]:
        """The digits of a number such as "829"."""
        digits = self.read_number(text)
        return [int(digit) for digit in (reversed(digits) if self.lowest_first else digits)]

    def written(self, names: Sequence[str]) -> str:
        """The number, with all its digits."""
        return "".join(reversed(names) if self.lowest_first else names)

    def expected(self, text: str) -> str:
        """Twice the number."""
        number = self.read_number(text)
        return plain_sum(number, number)

    def hard_draws(self) -> Mapping[str, HardDraw]:
        """The numbers of `lantm.tasks.hard_numbers`, and digit patterns."""
        numbers = {name: functools.partial(self._draw_number, number) for name, number in NUMBERS.items()}
        return {**numbers, **self.pattern_draws()}

    def _draw_number(
        self, number: HardDraw, key: PRNGKeyArray, length: Int[Array, ""], room: int
    ) -> Int[Array, " {room}"]:
        digits = number(key, length, room)
        return digits if self.lowest_first else _turned(digits, length)


class Addition(NumberTask):
    """x and y in k digits each, interleaved, give x + y in k + 1 digits.

    The paper's example: 423 + 94 is written `4 3 9 2 0 4`, each digit of 94 before that of 423, and 517
    is written `7 1 5 0`.

    >>> Addition().expected("423 + 94")
    '517'
    """

    name: ClassVar[str] = "addition"
    train_lengths: Lengths = eqx.field(static=True, default=Lengths(2, 16))

    def input_size(self, length: Count) -> Count:
        """The number of digits of x and y together."""
        return 2 * length

    def output_size(self, length: Count) -> Count:
        """One more digit than x or y has."""
        return length + 1

    def output(self, symbols: Int[Array, " input"], length: Int[Array, ""]) -> Int[Array, " input//2+1"]:
        """The digits of x + y."""
        return add_digits(symbols[0::2], symbols[1::2])

    def read(self, text: str) -> list[int]:
        """The digits of two numbers such as "423 + 94", the shorter padded to the length of the longer."""
        left, right = self._read_numbers(text)
        length = max(len(left), len(right))
        # The second number goes first, as in the paper's example (table "Input/output examples").
        pairs = zip(reversed(right.zfill(length)), reversed(left.zfill(length)), strict=True)
        return [int(digit) for pair in pairs for digit in pair]

    def expected(self, text: str) -> str:
        """The sum of the two numbers."""
        return plain_sum(*self._read_numbers(text))

    def written(self, names: Sequence[str]) -> str:
        """The two numbers, with all their digits."""
        return f"{''.join(names[1::2][::-1])} + {''.join(names[0::2][::-1])}"

    def hard_draws(self) -> Mapping[str, HardDraw]:
        """The pairs of `lantm.tasks.hard_numbers`."""
        return {name: functools.partial(_draw_pair, pair) for name, pair in PAIRS.items()}

    def _read_numbers(self, text: str) -> tuple[str, str]:
        left, _, right = text.partition("+")
        if not (left.strip() and right.strip()):
            raise LantmError(f"addition needs two numbers, not {reprlib.repr(text)}: write them as '423 + 94'")
        return self.read_number(left), self.read_number(right)


def _turned(digits: Int[Array, " digits"], size: Int[Array, ""]) -> Int[Array, " digits"]:
    """The first `size` digits reversed; the remaining values are arbitrary."""
    return jnp.take(digits, size - 1 - jnp.arange(digits.size), mode="clip")


def _draw_pair(pair: Pair, key: PRNGKeyArray, length: Int[Array, ""], room: int) -> Int[Array, " {room}"]:
    """The digits of two numbers, interleaved in random order."""
    key, order_key = jax.random.split(key)
    numbers = jnp.stack(pair(key, length, room // 2), axis=1)
    return jnp.where(jax.random.bernoulli(order_key), numbers, numbers[:, ::-1]).reshape(-1)


# Whether a run of digits generates a carry, and whether it propagates one.
Run = tuple[Bool[Array, " runs"], Bool[Array, " runs"]]


def add_digits(x: Int[Array, " digits"], y: Int[Array, " digits"]) -> Int[Array, " digits+1"]:
    """The sum of two numbers given by their digits, least significant first.

    Carries are computed by carry-lookahead, in a number of rounds logarithmic in the number of digits: a run of digits
    generates a carry, or propagates an incoming one, and two adjacent runs compose.

    >>> add_digits(jnp.array([4, 9, 0]), jnp.array([3, 2, 4])).tolist()
    [7, 1, 5, 0]
    """

    def compose(low: Run, high: Run) -> Run:
        low_generates, low_propagates = low
        high_generates, high_propagates = high
        return high_generates | (high_propagates & low_generates), high_propagates & low_propagates

    sums = jnp.pad(x + y, (0, 1))
    generates, _ = jax.lax.associative_scan(compose, (sums >= 10, sums == 9))
    carries = jnp.pad(generates[:-1], (1, 0))
    return (sums + carries) % 10


def plain_sum(x: str, y: str) -> str:
    """The sum of two numbers given as text, which may have more digits than Python's `int` accepts.

    >>> plain_sum("9" * 5000, "1") == "1" + "0" * 5000
    True
    """
    exact = decimal.Context(prec=max(len(x), len(y)) + 1)
    return str(exact.add(decimal.Decimal(x), decimal.Decimal(y)))

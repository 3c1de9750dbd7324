"""The tasks repeatCopy and prioritySort of the second paper, whose inputs contain numbers in unary
(docs/second-paper.md).

One mark per unit. The mark is `<s>`, as in the authors' program, so a problem starts with one mark more than its first
number.
"""

import dataclasses
import functools
import re
import reprlib
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, PRNGKeyArray

from lantm.batch import Batch
from lantm.errors import LantmError
from lantm.tasks.base import LONGEST, Count
from lantm.tasks.lengths import Lengths
from lantm.tasks.patterns import PATTERNS, Pattern, any_symbols
from lantm.tasks.permutation import SequenceTask
from lantm.tasks.sized import HardDraw

Order = Callable[[PRNGKeyArray, Int[Array, ""], int], Int[Array, " most"]]
"""Draws the priorities of `length` values, in an array of size `most`."""


def any_order(key: PRNGKeyArray, length: Int[Array, ""], most: int) -> Int[Array, " {most}"]:
    """A random permutation of 0 to length - 1, independent of `most`."""
    last = 2**31 - 1
    drawn = jnp.where(jnp.arange(most) < length, jax.random.randint(key, (most,), 0, last, dtype="int32"), last)
    return jnp.argsort(jnp.argsort(drawn, stable=True)).astype("int32")


def in_order(key: PRNGKeyArray, length: Int[Array, ""], most: int) -> Int[Array, " {most}"]:
    """0 1 2 3 4: already sorted."""
    return jnp.arange(most)


def in_reverse(key: PRNGKeyArray, length: Int[Array, ""], most: int) -> Int[Array, " {most}"]:
    """4 3 2 1 0."""
    return length - 1 - jnp.arange(most)


def rotated(key: PRNGKeyArray, length: Int[Array, ""], most: int) -> Int[Array, " {most}"]:
    """3 4 0 1 2."""
    return (jnp.arange(most) + jax.random.randint(key, (), 1, jnp.maximum(length, 2), dtype="int32")) % length


def neighbours_exchanged(key: PRNGKeyArray, length: Int[Array, ""], most: int) -> Int[Array, " {most}"]:
    """1 0 3 2 4."""
    at = jnp.arange(most)
    return jnp.where(at ^ 1 < length, at ^ 1, at)


ORDERS: dict[str, Order] = {
    "in order": in_order,
    "in reverse": in_reverse,
    "rotated": rotated,
    "neighbours exchanged": neighbours_exchanged,
}
"""Orders of priorities by kind of hard problem."""


class RepeatCopy(SequenceTask):
    """N marks and a text give the text N times; the length is N, and all texts have `text_size` symbols.

    >>> RepeatCopy().expected("3:ab")
    'ababab'

    The machine reads `<s> <s> <s> <s> a b`: the initial `<s>` and N marks. Scales are scales of the number of
    repetitions: 1 to 5 in training, 6 to 10 at 2x, 20 at 4x.
    """

    name: ClassVar[str] = "repeatCopy"
    longest_length: ClassVar[int] = 50_000
    train_lengths: Lengths = eqx.field(static=True, default=Lengths(1, 5))
    text_size: int = eqx.field(static=True, default=20)

    def __check_init__(self) -> None:
        if self.text_size < 1:
            raise LantmError(f"repeatCopy cannot repeat texts of {self.text_size} symbols: use text_size=1 or more")

    def input_size(self, length: Count) -> Count:
        """The marks and the text."""
        return length + self.text_size

    def output_size(self, length: Count) -> Count:
        """The text once per mark."""
        return length * self.text_size

    def draw(self, key: PRNGKeyArray, length: Int[Array, ""], room: int) -> Int[Array, " {room}"]:
        """Marks and a random text."""
        return self._draw_text(any_symbols, key, length, room)

    def output(self, symbols: Int[Array, " input"], length: Int[Array, ""]) -> Int[Array, " output"]:
        """The text, repeated."""
        most = symbols.size - self.text_size
        return jnp.take(symbols, length + jnp.arange(most * self.text_size) % self.text_size, mode="clip")

    def hard_draws(self) -> Mapping[str, HardDraw]:
        """Texts with the patterns for sequences."""
        return {name: functools.partial(self._draw_text, pattern) for name, pattern in PATTERNS.items()}

    def encode(self, text: str) -> Batch:
        """A batch of the single problem written as "3:hello"; its text may have any size."""
        _, repeated = self._split(text)
        return SequenceTask.encode(dataclasses.replace(self, text_size=len(repeated)), text)

    def read(self, text: str) -> list[int]:
        """The marks, and the symbol of each character."""
        times, repeated = self._split(text)
        return [self.start] * times + self.read_characters(repeated)

    def expected(self, text: str) -> str:
        """The text, repeated."""
        times, repeated = self._split(text)
        return times * repeated

    def written(self, names: Sequence[str]) -> str:
        """The number of marks, and the text."""
        marks = self.symbol_name(self.start)
        times = next(at for at, name in enumerate([*names, ""]) if name != marks)
        return f"{times}:{''.join(names[times:])}"

    def _split(self, text: str) -> tuple[int, str]:
        """The count and the text in a text such as "3:hello"."""
        found = re.fullmatch(r"\s*([0-9]{1,7}):(.+)", text, re.DOTALL)
        if not found or not int(found[1]):
            raise LantmError(
                f"repeatCopy cannot read {reprlib.repr(text)}: write a count of at least 1, and a text, as in '3:hello'"
            )
        times, repeated = int(found[1]), found[2]
        if times > self.longest_length or times * len(repeated) > LONGEST:
            raise LantmError(
                f"repeatCopy repeats up to {self.longest_length:,} times and up to {LONGEST:,} symbols, not "
                f"{len(repeated):,} symbols {times:,} times: shorten it"
            )
        return times, repeated

    def _draw_text(
        self, pattern: Pattern, key: PRNGKeyArray, length: Int[Array, ""], room: int
    ) -> Int[Array, " {room}"]:
        text = pattern(key, jnp.asarray(self.text_size, "int32"), self.text_size, self.data_symbols)
        at = jnp.arange(room) - length
        return jnp.where(at < 0, self.start, jnp.take(text, at, mode="clip"))


class PrioritySort(SequenceTask):
    """Values, each after as many marks as its priority, give the values in the order of their priorities.

    >>> PrioritySort().expected("2:c 0:a 1:b")
    'abc'

    The machine reads `<s> <s> <s> c a <s> b`: the initial `<s>`, two marks and c, no mark and a, one mark and b. The
    length is the number k of values; their priorities are 0 to k - 1 in random order.
    """

    name: ClassVar[str] = "prioritySort"
    longest_length: ClassVar[int] = 1000  # these have half a million marks
    train_lengths: Lengths = eqx.field(static=True, default=Lengths(2, 10))

    def input_size(self, length: Count) -> Count:
        """The values, and 0 + 1 + ... + (length - 1) marks."""
        return length * (length + 1) // 2

    def output_size(self, length: Count) -> Count:
        """The values."""
        return length

    def draw(self, key: PRNGKeyArray, length: Int[Array, ""], room: int) -> Int[Array, " {room}"]:
        """Random values in random order."""
        return self._draw_pairs(any_symbols, any_order, key, length, room)

    def output(self, symbols: Int[Array, " input"], length: Int[Array, ""]) -> Int[Array, " input"]:
        """Every value at the position given by the marks before it."""
        is_value = (symbols != self.start) & (jnp.arange(symbols.size) < self.input_size(length))
        marks = jnp.cumsum(symbols == self.start)
        at_last_value = jax.lax.cummax(jnp.where(is_value, marks, 0))
        priorities = marks - jnp.pad(at_last_value[:-1], (1, 0))
        places = jnp.where(is_value, priorities, symbols.size)
        return jnp.zeros_like(symbols).at[places].set(symbols, mode="drop")

    def hard_draws(self) -> Mapping[str, HardDraw]:
        """Special orders of random values, and patterned values in random order."""
        orders = {name: functools.partial(self._draw_pairs, any_symbols, order) for name, order in ORDERS.items()}
        patterns = {name: functools.partial(self._draw_pairs, one, any_order) for name, one in PATTERNS.items()}
        return {**orders, **patterns}

    def read(self, text: str) -> list[int]:
        """The marks and the value of every pair."""
        pairs = self._pairs(text)
        values = self.read_characters("".join(value for _, value in pairs))
        return [
            symbol
            for (priority, _), value in zip(pairs, values, strict=True)
            for symbol in (*[self.start] * priority, value)
        ]

    def expected(self, text: str) -> str:
        """The values sorted by priority."""
        return "".join(value for _, value in sorted(self._pairs(text)))

    def written(self, names: Sequence[str]) -> str:
        """Priorities and values."""
        pairs, priority = [], 0
        for name in names:
            if name == self.symbol_name(self.start):
                priority += 1
            else:
                pairs.append(f"{priority}:{name}")
                priority = 0
        return " ".join(pairs)

    def _pairs(self, text: str) -> list[tuple[int, str]]:
        """The priority and the value of each pair in a text such as "2:c 0:a 1:b"."""
        if not re.fullmatch(r"([0-9]{1,4}:. )*[0-9]{1,4}:.", text, re.DOTALL):
            raise LantmError(
                f"prioritySort cannot read {reprlib.repr(text)}: write pairs of a priority and a character, "
                "as in '2:c 0:a 1:b'"
            )
        pairs = [(int(priority), value) for priority, value in re.findall(r"([0-9]+):(.)(?: |$)", text, re.DOTALL)]
        if len(pairs) > self.longest_length:
            raise LantmError(f"prioritySort sorts up to {self.longest_length:,} values, not {len(pairs):,}: shorten it")
        if sorted(priority for priority, _ in pairs) != list(range(len(pairs))):
            raise LantmError(
                f"prioritySort needs the priorities 0 to {len(pairs) - 1} for {len(pairs)} values, each once: "
                f"{reprlib.repr(text)} has others"
            )
        return pairs

    def _draw_pairs(
        self, pattern: Pattern, order: Order, key: PRNGKeyArray, length: Int[Array, ""], room: int
    ) -> Int[Array, " {room}"]:
        key, order_key = jax.random.split(key)
        most = self.length_of_input(room)
        values, priorities = pattern(key, length, most, self.data_symbols), order(order_key, length, most)
        at = jnp.arange(most)
        places = jnp.where(at < length, at + jnp.cumsum(priorities), room)
        return jnp.full((room,), self.start, "int32").at[places].set(values, mode="drop")

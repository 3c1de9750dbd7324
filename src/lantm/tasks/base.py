"""`Task`: the contract of a task, which generates problems as batches of symbols over time."""

import abc
import dataclasses
import itertools
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, SupportsInt, TypeAlias, TypeVar, final

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, Key, PRNGKeyArray

from lantm.batch import Batch
from lantm.errors import LantmError
from lantm.tasks.lengths import Length, Lengths

# A length, or a number of symbols computed from one: a Python integer if it determines the shape of an array, a traced
# integer inside compiled code.
Count = TypeVar("Count", int, Int[Array, ""])
AnyTask = TypeVar("AnyTask", bound="Task")
HardKind: TypeAlias = str | Int[Array, ""]
"""A kind of hard problems: its name, or its index in `Task.hard_kinds`, which may be traced."""

LONGEST = 1_000_000  # maximum number of symbols or digits of a problem
NOTHING = -1  # padding after the end of a problem, for tasks whose problems of one length differ in size


class Task(eqx.Module):
    """A kind of problem: symbol sequences in, symbol sequences out, at any length.

    A task defines its symbols and its problems of a given length. If sizes depend on the length alone, `SizedTask` does
    most of the work; derive from `SequenceTask` or `NumberTask`, which also define the symbols.

    A task is frozen and compared by its fields, all of which are static, so it can be a static argument of a compiled
    function.

    The symbols are `data_symbols` symbols of data, numbered from 0, then `<s>` (start), `</s>` (end of
    input), `<e>` (end of output, shown as `∎` in answers and pages), and then `unused_symbols` that never occur.
    """

    name: eqx.AbstractClassVar[str]
    alphabet: eqx.AbstractClassVar[str]
    """The characters that represent the data symbols; symbols beyond its end are displayed by number."""
    end_name: ClassVar[str] = "<e>"
    """How the end of output is displayed."""
    usual_scales: ClassVar[tuple[int, ...]] = (1, 2, 4)
    """The default scales to test at, as multiples of the training lengths."""
    longest_length: ClassVar[int] = LONGEST
    """The largest length of a problem."""

    # What a task has to define; each of the three properties may be a field.

    @property
    @abc.abstractmethod
    def train_lengths(self) -> Lengths:
        """The lengths to train on."""

    @property
    @abc.abstractmethod
    def data_symbols(self) -> int:
        """The number of symbols that inputs and outputs are made of."""

    @property
    @abc.abstractmethod
    def unused_symbols(self) -> int:
        """The number of symbols that never occur."""

    @abc.abstractmethod
    def steps(self, length: Count) -> Count:
        """An upper bound on the number of time steps of problems of a length."""

    @abc.abstractmethod
    def sample(self, key: PRNGKeyArray, batch_size: int, length: Length, capacity_length: int) -> Batch:
        """Random problems, all of one length or of individual lengths.

        No length may exceed `capacity_length`. Shapes depend only on `batch_size` and `capacity_length`, so one
        compiled function serves all lengths. With JAX's default random number generator (threefry), a problem depends
        on the key, its index in the batch and its length, not on `capacity_length` or `batch_size`.
        """

    @property
    def hard_kinds(self) -> tuple[str, ...]:
        """The names of the kinds of hard problems: structured ones that random sampling hardly ever produces."""
        return ()

    def sample_hard(
        self, key: PRNGKeyArray, batch_size: int, length: Length, capacity_length: int, kind: HardKind | None = None
    ) -> Batch:
        """Hard problems, with the arguments of `sample`: each of a random kind (see `draw_kinds`), or all of the given
        one.

        A task without `hard_kinds` returns random problems.
        """
        self.draw_kinds(key, batch_size, kind)
        return self.sample(key, batch_size, length, capacity_length)

    @abc.abstractmethod
    def encode(self, text: str) -> Batch:
        """A batch of the single problem written in `text`, at its exact length; raises a `LantmError` if it is
        invalid."""

    @abc.abstractmethod
    def expected(self, text: str) -> str:
        """The correct answer to a text that `encode` accepts, computed in plain Python."""

    @abc.abstractmethod
    def show(self, names: Sequence[str]) -> str:
        """The answer as text, given the names of its symbols in order of time."""

    def written(self, names: Sequence[str]) -> str:
        """The problem as text for `encode`, given the names of its input symbols in order of time."""
        return "".join(names)

    # Symbols.

    @final
    @property
    def start(self) -> int:
        """The symbol `<s>` before the input."""
        return self.data_symbols

    @final
    @property
    def end_of_input(self) -> int:
        """The symbol `</s>`, which is the input at every step of the answer."""
        return self.data_symbols + 1

    @final
    @property
    def end_of_output(self) -> int:
        """The symbol `<e>` that ends the answer."""
        return self.data_symbols + 2

    @final
    @property
    def vocabulary(self) -> int:
        """The number of symbols of all kinds."""
        return self.data_symbols + 3 + self.unused_symbols

    @final
    def symbol_name(self, symbol: int) -> str:
        """The displayed form of a symbol: a character, a marker, or its number in angle brackets."""
        markers = {self.start: "<s>", self.end_of_input: "</s>", self.end_of_output: self.end_name}
        if 0 <= symbol < min(self.data_symbols, len(self.alphabet)):
            return self.alphabet[symbol]
        return markers.get(symbol, f"⟨{symbol}⟩")

    # Lengths.

    def check_length(self, length: int) -> None:
        """Raises a `LantmError` if there are no problems of this length."""
        stride = self.train_lengths.stride
        if length < 1:
            raise LantmError(f"{self.name} has no problems of length {length}: use {stride} or more")
        if length % stride:
            shorter = length - length % stride
            nearest = f"{shorter} or {shorter + stride}" if shorter else f"{stride}"
            raise LantmError(
                f"{self.name} has no problems of length {length}: use a multiple of {stride}, as {nearest}"
            )
        if length > self.longest_length:
            raise LantmError(f"{self.name} has no problems of length {length:,}: use up to {self.longest_length:,}")

    @final
    def with_lengths(self: AnyTask, train_lengths: Lengths) -> AnyTask:
        """The same task with other training lengths."""
        changed: dict[str, Any] = {"train_lengths": train_lengths}
        try:
            return dataclasses.replace(self, **changed)
        except TypeError as error:
            raise LantmError(f"{self.name} has fixed lengths: make train_lengths a field of its class") from error

    def lengths_at(self, scale: int) -> Lengths:
        """The lengths to test at: scale 1 is the training range, scale 2 the paper's 2x range directly above it.

        From scale 3 on it is the single length `scale` times the longest training length, as in the paper's tests at
        4x, 5x and 8x.
        """
        trained = self.train_lengths
        if scale < 1:
            raise LantmError(f"there are no lengths at scale {scale}: use 1 for the training range, or more")
        if scale == 1:
            return trained
        longest = scale * trained.largest
        smallest = trained.largest + trained.stride if scale == 2 else longest
        return Lengths(smallest, longest, trained.stride)

    @final
    def capacity(self, longest: int) -> int:
        """The number of time steps of arrays for problems up to the length `longest`."""
        return self.steps(longest)

    # Problems.

    @final
    def draw_kinds(
        self, key: PRNGKeyArray, batch_size: int, kind: HardKind | None = None
    ) -> Int[Array, " {batch_size}"]:
        """The kind of each problem that `sample_hard` draws with the same key, as an index into `hard_kinds`."""
        if isinstance(kind, jax.Array):
            return jnp.full((batch_size,), kind, "int32")
        if kind is not None:
            if kind not in self.hard_kinds:
                known = f"known are {', '.join(self.hard_kinds)}" if self.hard_kinds else "it has none"
                raise LantmError(f"{self.name} has no hard problems of the kind {kind!r}: {known}")
            return jnp.full((batch_size,), self.hard_kinds.index(kind), "int32")
        kinds = max(1, len(self.hard_kinds))
        kind_keys, _ = hard_keys(key, batch_size)
        return jax.vmap(lambda key: jax.random.randint(key, (), 0, kinds, dtype="int32"))(kind_keys)

    @final
    def decode_answer(self, symbols: Iterable[SupportsInt]) -> str:
        """An answer as text, up to the first `<e>`; other markers are displayed.

        Different answers can have the same text, since leading zeros of a number are dropped; scores compare symbols.
        """
        end = self.end_of_output
        answer = list(itertools.takewhile(lambda symbol: symbol != end, map(int, symbols)))
        names = {symbol: self.symbol_name(symbol) for symbol in set(answer)}  # one call per distinct symbol
        return self.show([names[symbol] for symbol in answer])

    @final
    def place(
        self,
        symbols: Int[Array, " input"],
        input_size: Int[Array, ""],
        output: Int[Array, " output"],
        output_size: Int[Array, ""],
        capacity: int,
    ) -> tuple[Int[Array, " {capacity}"], Int[Array, " {capacity}"], Bool[Array, " {capacity}"]]:
        """Inputs, targets and mask of one problem over time; symbols beyond the given sizes are ignored."""
        at = jnp.arange(capacity) - 1 - input_size  # index into the answer; negative while the input is read
        read = jnp.pad(symbols, (1, capacity - 1 - symbols.size)).at[0].set(self.start)
        inputs = jnp.where(at < 0, read, self.end_of_input)
        answer = jnp.take(output, at, mode="clip")
        targets = jnp.where((at >= 0) & (at < output_size), answer, self.end_of_output)
        return inputs, targets, (at >= 0) & (at <= output_size)


def hard_keys(key: PRNGKeyArray, batch_size: int) -> tuple[Key[Array, " {batch_size}"], Key[Array, " {batch_size}"]]:
    """The keys that select the kind of each hard problem, and those that draw the problems."""
    keys = jax.vmap(jax.random.split)(jax.random.split(key, batch_size))
    return keys[:, 0], keys[:, 1]


def check_text(name: str, text: str, longest: int) -> None:
    """Raises a `LantmError` if a text has more than `longest` characters."""
    if len(text) > longest:
        raise LantmError(f"{name} takes up to {longest:,} characters, not {len(text):,}: shorten the text")

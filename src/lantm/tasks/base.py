"""What a task is: problems as batches of symbols, laid out in time by one piece of code for all tasks."""

import abc
import bisect
import dataclasses
import functools
from collections.abc import Iterable, Sequence
from typing import Any, Self, SupportsInt, TypeVar, final

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, PRNGKeyArray

from lantm.batch import Batch
from lantm.errors import LantmError
from lantm.tasks.lengths import Lengths

# A length, or a number of symbols that follows from one: a Python integer where it decides the shape of
# an array, a traced integer inside compiled code.
Count = TypeVar("Count", int, Int[Array, ""])

LONGEST_TEXT = 100_000  # characters; far beyond any machine here, short enough to fail at once


class Task(eqx.Module):
    """A kind of problem: sequences of symbols in, sequences of symbols out, at any length.

    A task says what its symbols are and, for one problem at a time, how long input and output are and what
    the output is. Markers, layout in time, masks, batches of mixed lengths and people's text follow.
    Derive from `SequenceTask` or `NumberTask`, which settle the symbols; `examples/every_second.py` is
    a whole task in a page.

    A task is frozen and compared by its fields, all of them static: it can be a static argument of a
    compiled function.

    The symbols are `data_symbols` symbols of data, numbered from 0, then `<s>` (start), `</s>` (end of
    input), `<e>` (end of output), and then `unused_symbols` that never occur.
    """

    name: eqx.AbstractClassVar[str]
    alphabet: eqx.AbstractClassVar[str]
    """The characters that stand for the data symbols; symbols beyond its end are shown by number."""

    # What a task of one's own defines; each of the three properties may be a field.

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
    def input_size(self, length: Count) -> Count:
        """The number of input symbols, which grows with the length."""

    @abc.abstractmethod
    def output_size(self, length: Count) -> Count:
        """The number of output symbols, the end symbol not counted."""

    @abc.abstractmethod
    def output(self, symbols: Int[Array, " input"], length: Int[Array, ""]) -> Int[Array, " output"]:
        """The output of one problem.

        `symbols` has room for a longer problem: this one's input is followed by zeros. So may the output
        be followed by anything; only its first `output_size(length)` symbols are used.
        """

    @abc.abstractmethod
    def expected(self, text: str) -> str:
        """The right answer to a text that `encode` takes, by plain Python: a check on `output`."""

    @abc.abstractmethod
    def read(self, text: str) -> list[int]:
        """The input symbols of a problem written by a person, or a `LantmError` that says what is wrong."""

    @abc.abstractmethod
    def show(self, names: Sequence[str]) -> str:
        """The names of output symbols, in the order of time, as a person would write the answer."""

    def draw(self, key: PRNGKeyArray, length: Int[Array, ""], room: int) -> Int[Array, " {room}"]:
        """Random input symbols of one problem; those beyond `input_size(length)` are ignored.

        The symbols are independent and uniform, as in all tasks of the paper. A task whose inputs have
        structure replaces this method, the only one that is meant to be.
        """
        return jax.random.randint(key, (room,), 0, self.data_symbols, dtype="int32")

    # Symbols.

    @final
    @property
    def start(self) -> int:
        """The symbol `<s>` before the input."""
        return self.data_symbols

    @final
    @property
    def end_of_input(self) -> int:
        """The symbol `</s>`, repeated while the answer is given."""
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
        """One symbol as shown to people: a character, a marker, or its number in angle brackets."""
        markers = {self.start: "<s>", self.end_of_input: "</s>", self.end_of_output: "<e>"}
        if 0 <= symbol < min(self.data_symbols, len(self.alphabet)):
            return self.alphabet[symbol]
        return markers.get(symbol, f"⟨{symbol}⟩")

    # Lengths.

    @final
    def check_length(self, length: int) -> None:
        """Raises a `LantmError` when there are no problems of this length."""
        stride = self.train_lengths.stride
        if length < 1:
            raise LantmError(f"{self.name} has no problems of length {length}: use {stride} or more")
        if length % stride:
            shorter = length - length % stride
            nearest = f"{shorter} or {shorter + stride}" if shorter else f"{stride}"
            raise LantmError(
                f"{self.name} has no problems of length {length}: use a multiple of {stride}, as {nearest}"
            )

    @final
    def with_lengths(self, train_lengths: Lengths) -> Self:
        """The same task, to be trained on other lengths."""
        changed: dict[str, Any] = {"train_lengths": train_lengths}
        try:
            return dataclasses.replace(self, **changed)
        except TypeError as error:
            raise LantmError(f"{self.name} has fixed lengths: make train_lengths a field of its class") from error

    @final
    def lengths_at(self, scale: int) -> Lengths:
        """The lengths to test at: 1 is the training range, 2 the paper's 2x range, which begins above it.

        From 3 on it is the one length `scale` times the longest trained, as in the paper's further
        lengths (4x, 5x, 8x) and figures.
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
    def answer_size(self, length: Count) -> Count:
        """The number of symbols to be answered: the output and its `<e>`."""
        return self.output_size(length) + 1

    @final
    def steps(self, length: Count) -> Count:
        """The number of steps of a problem: `<s>`, the input, and one `</s>` for each answer symbol."""
        return 1 + self.input_size(length) + self.answer_size(length)

    @final
    def capacity(self, longest: int) -> int:
        """The number of time steps of arrays that hold problems up to the length `longest`."""
        return self.steps(longest)

    # Problems.

    @final
    def sample(
        self,
        key: PRNGKeyArray,
        batch_size: int,
        length: int | Int[Array, ""] | Int[Array, " batch"],
        capacity_length: int,
    ) -> Batch:
        """Random problems, all of one length or each of its own.

        The arrays hold problems up to `capacity_length`, which a length must not exceed. Only
        `batch_size` and `capacity_length` decide shapes: a compiled function serves all lengths. With
        JAX's default random numbers (threefry) a problem depends on the key, its place in the batch and
        its length, not on `capacity_length` or `batch_size`.
        """
        room = self.input_size(capacity_length)
        lengths = jnp.broadcast_to(jnp.asarray(length, dtype="int32"), (batch_size,))
        keys = jax.random.split(key, batch_size)
        symbols = jax.vmap(lambda key, length: self.draw(key, length, room))(keys, lengths)
        return self.layout(symbols, length)

    @final
    def layout(self, symbols: Int[Array, "batch input"], length: int | Int[Array, ""] | Int[Array, " batch"]) -> Batch:
        """Problems with the given input symbols, of which each problem's first `input_size(length)` count.

        There is to be room for the input of some length exactly, which is then the longest that fits.
        """
        batch_size, room = symbols.shape
        lengths = jnp.broadcast_to(jnp.asarray(length, dtype="int32"), (batch_size,))
        return _lay_out(self, symbols, lengths, self._length_of_input(room), together=jnp.ndim(length) == 0)

    @final
    def encode(self, text: str) -> Batch:
        """A batch of one problem, as a person writes it, at its exact length."""
        if len(text) > LONGEST_TEXT:
            raise LantmError(
                f"{self.name} takes up to {LONGEST_TEXT:,} characters, not {len(text):,}: shorten the text"
            )
        symbols = self.read(text)
        if not symbols:
            raise LantmError(f"{self.name} has nothing to work on: give it at least one symbol")
        return self.layout(jnp.asarray([symbols]), self._length_of_input(len(symbols)))

    @final
    def decode_answer(self, symbols: Iterable[SupportsInt]) -> str:
        """An answer as a person would write it, up to the first `<e>`; other markers in it are shown.

        Two different answers can read the same (leading zeros of a number are not shown): score symbols.
        """
        names = []
        for symbol in map(int, symbols):
            if symbol == self.end_of_output:
                break
            names.append(self.symbol_name(symbol))
        return self.show(names)

    def _length_of_input(self, size: int) -> int:
        """The length of problems with `size` input symbols: the inverse of `input_size`."""
        length = 1 + bisect.bisect_left(range(1, size + 1), size, key=self.input_size)
        if self.input_size(length) != size:
            larger = self.input_size(length)
            raise LantmError(f"{self.name} has no problems of {size} input symbols: the next have {larger}")
        self.check_length(length)
        return length


# Compiled as one, since a new shape would otherwise compile every operation of its own.
@functools.partial(jax.jit, static_argnames=("task", "longest", "together"))
def _lay_out(
    task: Task,
    symbols: Int[Array, "batch input"],
    lengths: Int[Array, " batch"],
    longest: int,
    together: bool,
) -> Batch:
    """The problems in arrays with room for the length `longest`; `together`: all have one length."""
    capacity = task.capacity(longest)

    def lay_out_one(
        symbols: Int[Array, " input"], length: Int[Array, ""]
    ) -> tuple[Int[Array, " time"], Int[Array, " time"], Bool[Array, " time"], Int[Array, ""], Int[Array, ""]]:
        input_size, output_size = task.input_size(length), task.output_size(length)
        symbols = jnp.where(jnp.arange(symbols.size) < input_size, symbols, 0)
        place = jnp.arange(capacity) - 1 - input_size  # in the answer; negative while the input is read

        read = jnp.pad(symbols, (1, capacity - 1 - symbols.size)).at[0].set(task.start)
        inputs = jnp.where(place < 0, read, task.end_of_input)

        output = jnp.take(task.output(symbols, length), place, mode="clip")
        targets = jnp.where((place >= 0) & (place < output_size), output, task.end_of_output)
        mask = (place >= 0) & (place <= output_size)
        return inputs, targets, mask, task.steps(length), 1 + input_size

    inputs, targets, mask, steps, writes = jax.vmap(lay_out_one, out_axes=(1, 1, 1, 0, 0))(
        symbols.astype("int32"), lengths
    )
    return Batch(
        inputs,
        targets,
        mask,
        jnp.max(steps),
        writes,
        write_capacity=1 + task.input_size(longest),
        answer_capacity=task.answer_size(longest) if together else capacity,
    )

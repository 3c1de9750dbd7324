"""Tasks whose sizes follow from the length alone: markers, layout, batches and people's text come with it."""

import abc
import bisect
import functools
from typing import final

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, PRNGKeyArray

from lantm.batch import Batch
from lantm.errors import LantmError
from lantm.tasks.base import Count, Task, check_text


class SizedTask(Task):
    """A task that says, for one problem at a time, how long input and output are and what the output is.

    Markers, layout in time, masks, batches of mixed lengths and people's text follow. Derive from
    `SequenceTask` or `NumberTask`, which settle the symbols; `examples/every_second.py` is a whole task in a
    page.
    """

    # What a task of one's own defines, besides `expected`, its symbols and its training lengths.

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
    def read(self, text: str) -> list[int]:
        """The input symbols of a problem written by a person, or a `LantmError` that says what is wrong."""

    def draw(self, key: PRNGKeyArray, length: Int[Array, ""], room: int) -> Int[Array, " {room}"]:
        """Random input symbols of one problem; those beyond `input_size(length)` are ignored.

        The symbols are independent and uniform, as in all tasks of the paper. A task whose inputs have
        structure replaces this method, the only one that is meant to be.
        """
        return jax.random.randint(key, (room,), 0, self.data_symbols, dtype="int32")

    # Sizes.

    @final
    def answer_size(self, length: Count) -> Count:
        """The number of symbols to be answered: the output and its `<e>`."""
        return self.output_size(length) + 1

    @final
    def steps(self, length: Count) -> Count:
        """The number of steps of a problem: `<s>`, the input, and one `</s>` for each answer symbol."""
        return 1 + self.input_size(length) + self.answer_size(length)

    # Problems.

    @final
    def sample(
        self,
        key: PRNGKeyArray,
        batch_size: int,
        length: int | Int[Array, ""] | Int[Array, " batch"],
        capacity_length: int,
    ) -> Batch:
        """Random problems; see `Task.sample`."""
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
        together = jnp.ndim(length) == 0
        batch: Batch = _lay_out(self, symbols, lengths, self._length_of_input(room), together)
        return batch

    @final
    def encode(self, text: str) -> Batch:
        """A batch of one problem, as a person writes it, at its exact length."""
        check_text(self.name, text)
        symbols = self.read(text)
        if not symbols:
            raise LantmError(f"{self.name} has nothing to work on: give it at least one symbol")
        return self.layout(jnp.asarray([symbols]), self._length_of_input(len(symbols)))

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
    task: SizedTask,
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
        placed = task.place(symbols, input_size, task.output(symbols, length), output_size, capacity)
        return *placed, task.steps(length), 1 + input_size

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

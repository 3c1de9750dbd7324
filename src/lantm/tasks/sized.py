"""Base class of tasks whose input and output sizes are functions, or upper bounds, of the length."""

import abc
import bisect
import functools
import operator
import reprlib
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, cast, final

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Int, Key, PRNGKeyArray

from lantm.batch import Batch
from lantm.compiling import compiled_quickly
from lantm.errors import LantmError
from lantm.tasks.base import NOTHING, Count, HardKind, Task, check_text, hard_keys
from lantm.tasks.lengths import Length
from lantm.tasks.patterns import PATTERNS, Pattern, any_symbols

HardDraw = Callable[[PRNGKeyArray, Int[Array, ""], int], Int[Array, " room"]]
"""Draws the input symbols of a hard problem, with the arguments of `SizedTask.draw`."""


class SizedTask(Task):
    """A task defined by the sizes of input and output and by a function that computes the output of one problem.

    This class adds markers, layout over time, masks, batches of mixed lengths and the encoding of text. Derive from
    `SequenceTask` or `NumberTask`, which define the symbols; `examples/every_second.py` is a complete short task, and
    `examples/letters.py` one whose answers vary in size.
    """

    sizes_vary: ClassVar[bool] = False
    """Whether problems of a length differ in size. `input_size` and `output_size` are then upper bounds, and the
    results of `draw` and `output` end at the first `NOTHING` (see `keep`)."""

    # To be defined by a task, besides `expected`, its symbols and its training lengths.

    @abc.abstractmethod
    def input_size(self, length: Count) -> Count:
        """The number of input symbols, which must increase with the length."""

    @abc.abstractmethod
    def output_size(self, length: Count) -> Count:
        """The number of output symbols, without the end symbol."""

    @abc.abstractmethod
    def output(self, symbols: Int[Array, " input"], length: Int[Array, ""]) -> Int[Array, " output"]:
        """The output of one problem.

        `symbols` is padded with zeros, or with `NOTHING` if sizes vary. Only the first `output_size(length)` symbols of
        the output are used; the rest are arbitrary.
        """

    @abc.abstractmethod
    def read(self, text: str) -> list[int]:
        """The input symbols of a problem given as text; raises a `LantmError` if it is invalid."""

    def draw(self, key: PRNGKeyArray, length: Int[Array, ""], room: int) -> Int[Array, " {room}"]:
        """Random input symbols of one problem; those beyond `input_size(length)` are ignored.

        By default the symbols are independent and uniform, as in all tasks of the paper. Tasks with structured inputs
        override this method.
        """
        return any_symbols(key, length, room, self.data_symbols)

    def hard_draws(self) -> Mapping[str, HardDraw]:
        """The hard problems: a function with the arguments of `draw` for each kind.

        Add a kind with `{**super().hard_draws(), "nines": draw_nines}`.
        """
        return {}

    @final
    def pattern_draws(self) -> dict[str, HardDraw]:
        """Repeated symbols, palindromes and other patterns (`lantm.tasks.patterns`), as kinds of hard problems.

        Empty if the task overrides `draw`, since patterns might then not be valid inputs.
        """
        patterns = PATTERNS if type(self).draw is SizedTask.draw else {}
        return {name: functools.partial(self._draw_pattern, pattern) for name, pattern in patterns.items()}

    def _draw_pattern(
        self, pattern: Pattern, key: PRNGKeyArray, length: Int[Array, ""], room: int
    ) -> Int[Array, " {room}"]:
        return pattern(key, self.input_size(length), room, self.data_symbols)

    # Sizes.

    @final
    def answer_size(self, length: Count) -> Count:
        """The number of symbols of an answer: the output and `<e>`."""
        return _checked(self, "output_size", length, self.output_size(length)) + 1

    @final
    def steps(self, length: Count) -> Count:
        """The number of steps of a problem: `<s>`, the input, and one `</s>` for each answer symbol."""
        return 1 + _checked(self, "input_size", length, self.input_size(length)) + self.answer_size(length)

    # Problems.

    @final
    def sample(self, key: PRNGKeyArray, batch_size: int, length: Length, capacity_length: int) -> Batch:
        """Random problems; see `Task.sample`."""
        room = _checked(self, "input_size", capacity_length, self.input_size(capacity_length))
        lengths = jnp.broadcast_to(jnp.asarray(length, dtype="int32"), (batch_size,))
        keys = jax.random.split(key, batch_size)
        symbols = jax.vmap(lambda key, length: self.draw(key, length, room))(keys, lengths)
        return self.layout(symbols, length)

    @final
    @property
    def hard_kinds(self) -> tuple[str, ...]:
        """The kinds of `hard_draws`."""
        return tuple(self.hard_draws())

    @final
    def sample_hard(
        self, key: PRNGKeyArray, batch_size: int, length: Length, capacity_length: int, kind: HardKind | None = None
    ) -> Batch:
        """Hard problems; see `Task.sample_hard`."""
        kinds = self.draw_kinds(key, batch_size, kind)
        if not self.hard_kinds:
            return self.sample(key, batch_size, length, capacity_length)
        lengths = jnp.broadcast_to(jnp.asarray(length, dtype="int32"), (batch_size,))
        _, keys = hard_keys(key, batch_size)
        return self.layout(_draw_hard(self, keys, lengths, kinds, self.input_size(capacity_length)), length)

    @final
    def layout(self, symbols: Int[Array, "batch input"], length: Length) -> Batch:
        """A batch of problems with the given input symbols, of which only the first `input_size(length)` are used.

        The size of the axis `input` must be the `input_size` of some length, the longest that fits.
        """
        batch_size, room = symbols.shape
        lengths = jnp.broadcast_to(jnp.asarray(length, dtype="int32"), (batch_size,))
        together = jnp.ndim(length) == 0
        batch: Batch = _compiled_lay_out(self, symbols, lengths, self.length_of_input(room), together)
        return batch

    def encode(self, text: str) -> Batch:
        """A batch of the single problem written in `text`; see `Task.encode`."""
        check_text(self.name, text, 2 * self.input_size(self.longest_length))  # allows for blanks
        symbols = self.read(text)
        if not symbols:
            raise LantmError(f"{self.name} needs at least one symbol")
        if not self.sizes_vary:
            return self._lay_out_alone(symbols, self.length_of_input(len(symbols)))
        length = self._length_with_room(len(symbols))
        nothing = [NOTHING] * (self.input_size(length) - len(symbols))
        batch = _cut_to_size(self._lay_out_alone(symbols + nothing, length))
        answer = self.decode_answer(jax.device_get(batch.targets)[len(symbols) + 1 :, 0])
        if answer != self.expected(text):
            raise LantmError(
                f"{self.name} has two answers to {reprlib.repr(text)}, {reprlib.repr(answer)} by output and "
                f"{reprlib.repr(self.expected(text))} by expected: make them agree, within output_size"
            )
        return batch

    def _lay_out_alone(self, symbols: list[int], length: int) -> Batch:
        """A batch of one problem with these input symbols; compiled quickly, since its shape may be used only once."""
        given = jax.device_put((np.array([symbols], np.int32), np.array([length], np.int32)))
        longest = self.length_of_input(len(symbols))
        lay_out = compiled_quickly(_lay_out, static_argnums=(0, 3, 4))
        batch: Batch = lay_out(self, *given, longest, True)
        return batch

    @final
    def length_of_input(self, size: int) -> int:
        """The length of problems with `size` input symbols: the inverse of `input_size`."""
        length = self._shortest(size)
        if self.input_size(length) != size:
            larger = self.input_size(length)
            raise LantmError(f"{self.name} has no problems of {size} input symbols: the next larger size is {larger}")
        self.check_length(length)
        return length

    def _length_with_room(self, size: int) -> int:
        """The smallest length whose problems may have `size` input symbols."""
        length, stride = self._shortest(size), self.train_lengths.stride
        length += -length % stride
        self.check_length(length)
        return length

    def _shortest(self, size: int) -> int:
        return 1 + bisect.bisect_left(range(1, size + 1), size, key=self.input_size)


def keep(symbols: Int[Array, " symbols"], chosen: Bool[Array, " symbols"]) -> Int[Array, " symbols"]:
    """The chosen symbols in order, followed by `NOTHING`: for outputs whose size depends on the input.

    >>> keep(jnp.array([5, 6, 7, 8]), jnp.array([False, True, False, True])).tolist()
    [6, 8, -1, -1]
    """
    order = jnp.argsort(~chosen, stable=True)
    return jnp.where(jnp.arange(symbols.size) < jnp.sum(chosen), symbols[order], NOTHING)


# Compiled as a whole; otherwise every operation would be compiled separately for a new shape.
@functools.partial(jax.jit, static_argnames=("task", "room"))
def _draw_hard(
    task: SizedTask, keys: Key[Array, " batch"], lengths: Int[Array, " batch"], kinds: Int[Array, " batch"], room: int
) -> Int[Array, "batch {room}"]:
    """The input symbols of hard problems of the given kinds."""

    def draw(key: PRNGKeyArray, length: Int[Array, ""], kind: Int[Array, ""]) -> Int[Array, " input"]:
        branches = [lambda one=one: one(key, length, room) for one in task.hard_draws().values()]
        symbols: Int[Array, " input"] = lax.switch(kind, branches)
        return symbols

    return jax.vmap(draw)(keys, lengths, kinds)


def _lay_out(
    task: SizedTask,
    symbols: Int[Array, "batch input"],
    lengths: Int[Array, " batch"],
    longest: int,
    together: bool,
) -> Batch:
    """A batch with capacity for the length `longest`; `together` means that all problems have the same length."""
    capacity = task.capacity(longest)

    def lay_out_one(
        symbols: Int[Array, " input"], length: Int[Array, ""]
    ) -> tuple[Int[Array, " time"], Int[Array, " time"], Bool[Array, " time"], Int[Array, ""], Int[Array, ""]]:
        input_size, output_size = task.input_size(length), task.output_size(length)
        if task.sizes_vary:
            input_size = _size(symbols, input_size)
        beyond = NOTHING if task.sizes_vary else 0
        symbols = jnp.where(jnp.arange(symbols.size) < input_size, symbols, beyond)
        output = _row(task.output(symbols, length), task.name)
        if task.sizes_vary:
            output_size = _size(output, output_size)
        placed = task.place(symbols, input_size, output, output_size, capacity)
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
        answer_capacity=task.answer_size(longest) if together and not task.sizes_vary else capacity,
        # All seeds run for the same number of steps, even if their problems differ in size.
        turn=1 + task.input_size(jnp.max(lengths)) if task.sizes_vary else None,
    )


_compiled_lay_out = jax.jit(_lay_out, static_argnums=(0, 3, 4))


def _checked(task: Task, name: str, length: Count, size: Any) -> Count:
    """A size that a task computes from a length, if it is one; that of a traced length is not known."""
    if not isinstance(length, int):
        return cast(Count, size)
    try:
        number = operator.index(size)
    except TypeError:
        number = -1
    if number < 0:
        raise LantmError(
            f"{name}({length}) of the task {task.name} is {size!r}: return a whole number of at least 0, without "
            "jax.numpy"
        )
    return number


def _row(output: object, name: str) -> Int[Array, " output"]:
    """The output of a task, if it is a row of symbols; JAX would flatten a matrix, and report a list from elsewhere."""
    if not isinstance(output, Array | np.ndarray):
        what = f"a {type(output).__name__}"
    elif output.ndim != 1:
        what = f"an array of the shape {output.shape}"
    elif not jnp.issubdtype(output.dtype, jnp.integer):
        what = f"an array of {output.dtype}"
    else:
        return jnp.asarray(output)
    raise LantmError(f"the output of the task {name} is {what}: return a row of symbols, as jnp.stack makes of a list")


def _size(symbols: Int[Array, " room"], most: Int[Array, ""]) -> Int[Array, ""]:
    """The number of symbols before the first `NOTHING`, at most `most`."""
    ended = (symbols < 0) | (jnp.arange(symbols.size) >= most)
    return jnp.argmax(jnp.append(ended, True)).astype("int32")


def _cut_to_size(batch: Batch) -> Batch:
    """A batch of one problem without padding."""
    inputs, targets, mask, writes = jax.device_get((batch.inputs, batch.targets, batch.mask, batch.writes))
    written, answered = int(writes[0]), int(mask.sum())  # NumPy needs no compilation for a new size
    steps = written + answered
    arrays = (inputs[:steps], targets[:steps], mask[:steps], np.int32(steps), writes)
    inputs, targets, mask, run, writes = jax.device_put(arrays)
    return Batch(inputs, targets, mask, run, writes, write_capacity=written, answer_capacity=answered)

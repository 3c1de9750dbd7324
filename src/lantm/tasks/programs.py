"""The task `programs`: executing short Python programs (section 4.2, after Zaremba and Sutskever, 2014)."""

import functools
from collections.abc import Callable, Sequence
from typing import ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, Key, PRNGKeyArray

from lantm.batch import Batch
from lantm.errors import LantmError
from lantm.tasks.base import Count, HardKind, Task, hard_keys
from lantm.tasks.grammar import (
    ALPHABET,
    KINDS,
    MOST_DIGITS,
    SMALL,
    TEMPLATES,
    VARIABLES,
    Program,
    Template,
    choices,
    longest_answer,
    longest_text,
    understand,
)
from lantm.tasks.lengths import Length, Lengths


class Programs(Task):
    """A program gives its output, last digit first and ended by `.`; the length is the number of digits of operands.

    >>> Programs().expected("print((14*5608))")
    '78512'
    >>> Programs().expected("b=1398;for x in range(10):b-=6843;print(b)")
    '-67032'

    The machine reads `<s> b = 1 3 ... ) </s> </s> ...` and has to answer `2 3 0 7 6 - .` from the first `</s>` on.

    For k digits, operands are uniform in [1, 10^k), small factors and loop counts in [1, 4k]; variables are a to j. All
    kinds have equal probability; `kinds` selects some of them: `programs[kinds=loop]`, `programs[kinds=if+loop]`.
    """

    name: ClassVar[str] = "programs"
    alphabet: ClassVar[str] = ALPHABET
    end_name: ClassVar[str] = "."
    usual_scales: ClassVar[tuple[int, ...]] = (1,)
    longest_length: ClassVar[int] = MOST_DIGITS
    data_symbols: ClassVar[int] = len(ALPHABET)
    unused_symbols: ClassVar[int] = 0
    train_lengths: Lengths = eqx.field(static=True, default=Lengths(2, 4))
    kinds: str = eqx.field(static=True, default="all")

    def __check_init__(self) -> None:
        for kind in self.chosen_kinds:
            if kind not in KINDS:
                raise LantmError(f"there are no programs of the kind {kind!r}: known are {', '.join(KINDS)}, or all")
        self.check_length(self.train_lengths.largest)

    @property
    def chosen_kinds(self) -> tuple[str, ...]:
        """The kinds of programs to draw from."""
        return KINDS if self.kinds == "all" else tuple(dict.fromkeys(self.kinds.split("+")))

    # Lengths.

    def lengths_at(self, scale: int) -> Lengths:
        """The largest training length, at which the paper scores; other scales are not supported."""
        if scale != 1:
            raise LantmError(
                f"there are no programs at scale {scale}: use 1, the largest training length, or give numbers of "
                f"digits by --lengths, up to {MOST_DIGITS}"
            )
        return Lengths(self.train_lengths.largest, self.train_lengths.largest, self.train_lengths.stride)

    def steps(self, length: Count) -> Count:
        """An upper bound on the number of steps: the longest input and the longest answer."""
        return self.writes(length) + _look_up(_longest(longest_answer, self.chosen_kinds), length) + 1

    def writes(self, length: Count) -> Count:
        """An upper bound on the number of steps to read a program: `<s>` and the longest input."""
        return 1 + _look_up(_longest(longest_text, self.chosen_kinds), length)

    # Problems.

    def sample(self, key: PRNGKeyArray, batch_size: int, length: Length, capacity_length: int) -> Batch:
        """Random programs. Their sizes differ, but the number of steps to run depends only on the length.

        So all seeds of a training run for the same number of steps, as with problems of one size.
        """
        keys = jax.random.split(key, batch_size)
        batch: Batch = _sample(self, keys, jnp.asarray(length, dtype="int32"), capacity_length)
        return batch

    @property
    def hard_kinds(self) -> tuple[str, ...]:
        """The kinds of operands; the kinds of programs are as in `sample`."""
        return HARD_OPERANDS

    def sample_hard(
        self, key: PRNGKeyArray, batch_size: int, length: Length, capacity_length: int, kind: HardKind | None = None
    ) -> Batch:
        """Random programs with hard operands; see `Task.sample_hard`."""
        kinds = self.draw_kinds(key, batch_size, kind)
        _, keys = hard_keys(key, batch_size)
        batch: Batch = _sample(self, keys, jnp.asarray(length, dtype="int32"), capacity_length, kinds)
        return batch

    def encode(self, text: str) -> Batch:
        """A batch of the single program written in `text`; blanks are ignored, and `;` ends a line."""
        program = self._understand(text)
        read = [self.start, *map(self.alphabet.index, program.text)]
        answer = [*map(self.alphabet.index, reversed(str(program.answer))), self.end_of_output]
        arrays = (
            np.array([read + [self.end_of_input] * len(answer)], np.int32).T,
            np.array([[self.end_of_output] * len(read) + answer], np.int32).T,
            np.array([[False] * len(read) + [True] * len(answer)]).T,
            np.int32(len(read) + len(answer)),
            np.array([len(read)], np.int32),
        )
        inputs, targets, mask, steps, writes = jax.device_put(arrays)  # NumPy needs no compilation
        return Batch(
            inputs,
            targets,
            mask,
            steps,
            writes,
            write_capacity=len(read),
            answer_capacity=len(answer),
        )

    def expected(self, text: str) -> str:
        """The output of the program, computed by the grammar."""
        return str(self._understand(text).answer)

    def show(self, names: Sequence[str]) -> str:
        """The answer with its most significant digit first."""
        return "".join(reversed(names))

    def _understand(self, text: str) -> Program:
        return understand(text, self.chosen_kinds)


@functools.cache
def _longest(size: Callable[[Template, int], int], kinds: tuple[str, ...]) -> tuple[int, ...]:
    """The size of the longest text or answer over all programs, by number of digits."""
    templates = [template for template in TEMPLATES if template.kind in kinds]
    return (0, *(max(size(template, digits) for template in templates) for digits in range(1, MOST_DIGITS + 1)))


def _look_up(table: tuple[int, ...], digits: Count) -> Count:
    return table[digits] if isinstance(digits, int) else jnp.asarray(table)[digits]


# Templates as arrays. A text alternates literals and slots: literal, slot, literal, slot, ..., literal.
_SLOTS = "abcdnv"  # plus one that is always empty
_FILLED = max(len(template.slots) for template in TEMPLATES)
_WIDTH = max(len(literal) for template in TEMPLATES for literal in template.literals)
_LITERALS = np.zeros((len(TEMPLATES), _FILLED + 1, _WIDTH), np.int32)
_LITERAL_SIZES = np.zeros((len(TEMPLATES), _FILLED + 1), np.int32)
_SOURCES = np.full((len(TEMPLATES), _FILLED), len(_SLOTS), np.int32)
for _row, _template in enumerate(TEMPLATES):
    for _place, _literal in enumerate(_template.literals):
        _LITERALS[_row, _place, : len(_literal)] = [ALPHABET.index(character) for character in _literal]
        _LITERAL_SIZES[_row, _place] = len(_literal)
    _SOURCES[_row, : len(_template.slots)] = [_SLOTS.index(slot) for slot in _template.slots]

_POWERS = 10 ** np.arange(10, dtype=np.int32)  # all that fit into 32 bits
_VARIABLES = np.array([ALPHABET.index(variable) for variable in VARIABLES], np.int32)
_MINUS = ALPHABET.index("-")


class _Drawn(NamedTuple):
    """A program and its answer, in padded arrays."""

    text: Int[Array, " room"]
    size: Int[Array, ""]
    answer: Int[Array, " 11"]
    answer_size: Int[Array, ""]


def _digits(number: Int[Array, "*numbers"]) -> tuple[Int[Array, "*numbers 10"], Int[Array, "*numbers"]]:
    """The digits of numbers, least significant first, and the number of digits."""
    number = number[..., None]
    return number // _POWERS % 10, jnp.maximum(1, jnp.sum(number >= _POWERS, axis=-1, dtype="int32"))


HARD_OPERANDS = ("zeros", "ones", "nines", "equal", "neighbours", "edges")
"""Operands that are all 0, all 1, all 99..9, all equal, at most 1 apart, or each one of 0, 1, 10..0 and 99..9."""


def _hard_operands(
    key: PRNGKeyArray, operands: Int[Array, " 4"], digits: Int[Array, ""], kind: Int[Array, ""]
) -> Int[Array, " 4"]:
    """The operands of a hard program, computed from those of a random one."""
    neighbour_key, edge_key = jax.random.split(key)
    powers = jnp.asarray(_POWERS)
    most = powers[digits] - 1
    neighbours = operands[0] + jax.random.randint(neighbour_key, (4,), -1, 1, dtype="int32")
    edges = jnp.stack([jnp.zeros_like(most), jnp.ones_like(most), powers[digits - 1], most])
    drawn = {
        "zeros": jnp.zeros_like(operands),
        "ones": jnp.ones_like(operands),
        "nines": jnp.broadcast_to(most, (4,)),
        "equal": jnp.broadcast_to(operands[0], (4,)),
        "neighbours": neighbours,
        "edges": edges[jax.random.randint(edge_key, (4,), 0, len(edges))],
    }
    return jnp.stack([drawn[name] for name in HARD_OPERANDS])[kind]


def _draw(
    task: Programs, key: PRNGKeyArray, digits: Int[Array, ""], room: int, kind: Int[Array, ""] | None = None
) -> _Drawn:
    """A random program, with hard operands if a kind is given."""
    if kind is not None:
        key, hard_key = jax.random.split(key)
    form_key, operand_key, small_key, variable_key = jax.random.split(key, 4)
    forms = jnp.asarray(list(choices(task.chosen_kinds)))
    form = jax.random.choice(form_key, forms)
    operands = jax.random.randint(operand_key, (4,), 1, jnp.asarray(_POWERS)[digits], dtype="int32")
    if kind is not None:
        operands = _hard_operands(hard_key, operands, digits, kind)
    small = jax.random.randint(small_key, (), 1, SMALL * digits + 1, dtype="int32")
    variable = jax.random.choice(variable_key, jnp.asarray(_VARIABLES))

    numbers = jnp.append(operands, small)
    backwards, sizes = _digits(numbers)
    places = jnp.arange(_WIDTH)
    forwards = jnp.take_along_axis(backwards, jnp.clip(sizes[:, None] - 1 - places, 0), axis=1)
    rest = jnp.stack([jnp.broadcast_to(variable, (_WIDTH,)), jnp.zeros(_WIDTH, jnp.int32)])
    fillings = jnp.concatenate([forwards, rest])
    filling_sizes = jnp.append(sizes, jnp.array([1, 0], "int32"))
    source = jnp.asarray(_SOURCES)[form]

    pieces = jnp.zeros((2 * _FILLED + 1, _WIDTH), jnp.int32)
    pieces = pieces.at[::2].set(jnp.asarray(_LITERALS)[form]).at[1::2].set(fillings[source])
    piece_sizes = jnp.zeros(2 * _FILLED + 1, jnp.int32)
    piece_sizes = piece_sizes.at[::2].set(jnp.asarray(_LITERAL_SIZES)[form]).at[1::2].set(filling_sizes[source])
    ends = jnp.cumsum(piece_sizes, dtype="int32")
    at = jnp.arange(room)
    piece = jnp.minimum(jnp.sum(at[:, None] >= ends, axis=1), 2 * _FILLED)
    text = pieces[piece, jnp.clip(at - (ends - piece_sizes)[piece], 0, _WIDTH - 1)]

    named = dict(zip("abcdn", numbers, strict=True))
    value = jnp.stack([template.value(**named) for template in TEMPLATES])[form]
    answer, answer_size = _digits(jnp.abs(value))
    answer = jnp.pad(answer, (0, 1)).at[answer_size].set(_MINUS)
    return _Drawn(text, ends[-1], answer, answer_size + (value < 0))


# Compiled as a whole; otherwise every operation would be compiled separately for a new shape.
@functools.partial(jax.jit, static_argnames=("task", "longest"))
def _sample(
    task: Programs,
    keys: Key[Array, " batch"],
    length: Int[Array, ""] | Int[Array, " batch"],
    longest: int,
    kinds: Int[Array, " batch"] | None = None,
) -> Batch:
    capacity, write_capacity = task.capacity(longest), task.writes(longest)

    def one(
        key: PRNGKeyArray, digits: Int[Array, ""], kind: Int[Array, ""] | None
    ) -> tuple[Array, Array, Array, Array]:
        drawn = _draw(task, key, digits, write_capacity - 1, kind)
        return *task.place(drawn.text, drawn.size, drawn.answer, drawn.answer_size, capacity), 1 + drawn.size

    lengths = jnp.broadcast_to(length, keys.shape)
    inputs, targets, mask, writes = jax.vmap(one, out_axes=(1, 1, 1, 0))(keys, lengths, kinds)
    hardest = jnp.max(length)
    return Batch(
        inputs,
        targets,
        mask,
        task.steps(hardest),
        writes,
        write_capacity=write_capacity,
        answer_capacity=capacity,
        turn=task.writes(hardest),
    )

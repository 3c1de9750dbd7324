"""Hard problems: every kind against plain Python, with the property that its name promises."""

import collections
import functools
import itertools
from collections.abc import Callable
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lantm.errors import LantmError
from lantm.tasks import (
    TASKS,
    Addition,
    Batch,
    BigramFlip,
    Copy,
    Count,
    Double,
    Lengths,
    NumberTask,
    OddFirst,
    PrioritySort,
    Programs,
    RepeatCopy,
    Reverse,
    Task,
)
from lantm.tasks.patterns import alternating, few_symbols


def task_name(task: Task) -> str:
    return TASKS.name_of(task, ignored=("train_lengths",))


# Answers are found as those of random problems are; the inputs of each kind have tests of their own below.
every_task = pytest.mark.parametrize(
    "task",
    [
        *(Copy(), Addition(), Programs()),
        *(
            pytest.param(task, marks=pytest.mark.thorough)
            for task in (
                *(Reverse(), BigramFlip(), BigramFlip(unit="bigrams"), OddFirst(), RepeatCopy(text_size=6)),
                *(Double(), Double(highest_first=True), PrioritySort()),
            )
        ),
    ],
    ids=task_name,
)
KEY = jax.random.key(18)
LONGEST = 32
BATCH = 128


def hard(task: Task, length: int | jax.Array, kind: str | None = None) -> Batch:
    """Always as many, so that one program per task draws them."""
    return jax.device_get(task.sample_hard(KEY, BATCH, length, longest(task), kind))


def longest(task: Task) -> int:
    """Of programs there are none with more digits, and the input of prioritySort grows with the square."""
    return {"programs": 7, "prioritySort": 8}.get(task.name, LONGEST)


def given(task: Task, batch: Batch, row: int) -> list[str]:
    names = symbol_names(task)
    return [names[symbol] for symbol in batch.inputs[1 : int(batch.writes[row]), row]]


@functools.cache
def symbol_names(task: Task) -> list[str]:
    return [task.symbol_name(symbol) for symbol in range(task.vocabulary)]


def texts(task: Task, length: int, kind: str) -> list[str]:
    """The problems as a person writes them."""
    batch = hard(task, length, kind)
    return [task.written(given(task, batch, row)) for row in range(16)]


def pairs(length: int, kind: str) -> list[tuple[str, str]]:
    """Numbers to add."""
    return [(left, right) for left, _, right in (text.partition(" + ") for text in texts(Addition(), length, kind))]


def sums(left: str, right: str) -> list[int]:
    """The sum at each place, least significant first, without carries."""
    return [int(x) + int(y) for x, y in zip(left[::-1], right[::-1], strict=True)]


def carries(left: str, right: str) -> int:
    """The number of places that carry."""
    found, carry = 0, 0
    for total in sums(left, right):
        carry = (total + carry) // 10
        found += carry
    return found


@every_task
def test_answers_are_those_of_plain_python(task: Task) -> None:
    stride = task.train_lengths.stride
    lengths = (1, 2, 7) if isinstance(task, Programs) else (stride, 2 * stride, 6, longest(task))
    for kind, length in itertools.product(task.hard_kinds, lengths):
        batch = hard(task, length, kind)
        for row in range(8):
            text = task.written(given(task, batch, row))
            answer = batch.targets[batch.mask[:, row], row]
            assert task.decode_answer(answer) == task.expected(text), (kind, length, text)
            if not isinstance(task, Programs):
                assert batch.writes[row] == 1 + task.input_size(length)
            if row < 1:  # as a person's problem it is the same
                alone = jax.device_get(task.encode(text))
                np.testing.assert_array_equal(answer, alone.targets[alone.mask], err_msg=f"{kind} {length} {text}")
                assert alone.writes[0] == batch.writes[row]


@every_task
def test_all_kinds_occur_and_are_known(task: Task) -> None:
    kinds = np.asarray(task.draw_kinds(KEY, BATCH))
    assert set(kinds) == set(range(len(task.hard_kinds)))
    mixed = hard(task, 4)
    for number, kind in enumerate(task.hard_kinds):
        alone = hard(task, 4, kind)
        rows = kinds == number
        np.testing.assert_array_equal(mixed.inputs[:, rows], alone.inputs[:, rows])
        np.testing.assert_array_equal(mixed.targets[:, rows], alone.targets[:, rows])


@pytest.mark.parametrize(
    "task", [Programs(), *(pytest.param(task, marks=pytest.mark.thorough) for task in (Copy(), Addition()))]
)
def test_one_compilation_serves_seeds_and_lengths(task: Task) -> None:
    traces = collections.Counter[str]()

    @jax.jit
    def of_seeds(seeds: jax.Array, length: jax.Array) -> Batch:
        traces["once"] += 1
        return jax.vmap(lambda seed: task.sample_hard(jax.random.key(seed), 4, length, 6))(seeds)

    for length in (2, 4, 6):
        found = of_seeds(jnp.arange(3), jnp.array(length))
        for seed in range(3):
            alone = task.sample_hard(jax.random.key(seed), 4, length, 6)
            for ours, theirs in zip(jax.tree.leaves(found), jax.tree.leaves(alone), strict=True):
                np.testing.assert_array_equal(ours[seed], theirs)
    assert traces["once"] == 1


@pytest.mark.parametrize("task", [Copy(), pytest.param(Addition(), marks=pytest.mark.thorough), Programs()])
def test_a_problem_depends_neither_on_capacity_nor_on_batch_size(task: Task) -> None:
    for kind in (None, *task.hard_kinds):
        small = jax.device_get(task.sample_hard(KEY, 3, 4, 4, kind))
        large = hard(task, 4, kind)
        assert [given(task, small, row) for row in range(3)] == [given(task, large, row) for row in range(3)], kind


@pytest.mark.parametrize("task", [Copy(), Addition(), Programs()])
def test_every_problem_may_have_its_own_length(task: Task) -> None:
    lengths = [2, 6, 3, 4]
    mixed = hard(task, jnp.array(lengths * (BATCH // 4)))
    for row, length in enumerate(lengths):
        assert given(task, mixed, row) == given(task, hard(task, length), row)


def runs_of(text: str) -> list[int]:
    return [len(list(group)) for _, group in itertools.groupby(text)]


SEQUENCES: dict[str, Callable[[str], bool]] = {
    "one symbol": lambda text: len(set(text)) == 1,
    "one differs": lambda text: sorted(collections.Counter(text).values()) == [1, LONGEST - 1],
    "two symbols": lambda text: len(set(text)) == 2,
    "few symbols": lambda text: len(set(text)) in (3, 4),
    "alternating": lambda text: len(set(text)) == 2 and text == text[:2] * (LONGEST // 2),
    "repeated word": lambda text: any(text == (text[:period] * LONGEST)[:LONGEST] for period in range(2, 9)),
    "palindrome": lambda text: text == text[::-1] and len(set(text)) > 4,
    "consecutive": lambda text: text in 2 * Copy.alphabet or text[::-1] in 2 * Copy.alphabet,
}


@pytest.mark.parametrize("kind", SEQUENCES)
def test_sequences_show_their_pattern(kind: str) -> None:
    shown = texts(Copy(), LONGEST, kind)
    assert [text for text in shown if not SEQUENCES[kind](text)] == []
    assert len(set(shown)) == len(shown)


def test_neighbours_are_often_equal_in_runs() -> None:
    shown = [runs_of(text) for text in texts(Copy(), LONGEST, "runs")]
    assert np.mean([len(runs) for runs in shown]) < LONGEST / 3, "a run has two symbols or more, in the mean"
    assert len({run for runs in shown for run in runs}) > 5
    assert max(map(len, shown)) > 6


def test_the_one_that_differs_is_often_at_an_end() -> None:
    places = [runs_of(text) for text in texts(Copy(), LONGEST, "one differs")]
    assert {1} < {runs[0] for runs in places}
    assert {1} < {runs[-1] for runs in places}
    assert sum(len(runs) == 2 for runs in places) >= 4


@pytest.mark.thorough
def test_any_symbol_may_be_the_repeated_one() -> None:
    task = Copy()
    batch = jax.device_get(task.sample_hard(KEY, 100 * 125, 1, 1, "one symbol"))
    counts = np.bincount(batch.inputs[1], minlength=125)
    assert counts.size == 125
    assert 50 < counts.min() <= counts.max() < 150, "100 each, with a standard deviation of 10"


def test_a_problem_is_independent_of_the_choice_of_its_kind() -> None:
    """With 16 kinds, ten digits and one key for both, a kind would have half of the digits only."""
    task = Double()
    batch = jax.device_get(task.sample_hard(KEY, 16 * 500, 1, 1))
    repeated = np.asarray(task.draw_kinds(KEY, 16 * 500)) == task.hard_kinds.index("one symbol")
    counts = np.bincount(batch.inputs[1, repeated], minlength=10)
    assert 20 < counts.min() <= counts.max() < 90, "50 each, with a standard deviation of 7"


def test_the_symbols_of_few_are_any_in_any_order() -> None:
    """Every ordered pair of five symbols is drawn, and every four of five, each as often as the others."""
    drawn = jax.vmap(lambda key: alternating(key, jnp.asarray(2), 2, 5))(jax.random.split(KEY, 20 * 400))
    pairs = collections.Counter(map(tuple, drawn.tolist()))
    assert set(pairs) == set(itertools.permutations(range(5), 2))
    assert 320 < min(pairs.values()) <= max(pairs.values()) < 480, "400 each, with a standard deviation of 20"
    four = functools.partial(few_symbols, fewest=4, most=4)
    drawn = jax.vmap(lambda key: four(key, jnp.asarray(99), 99, 5))(jax.random.split(KEY, 5 * 200))
    missing = collections.Counter(next(iter({*range(5)} - {*row})) for row in drawn.tolist())
    assert sum(missing.values()) == 1000, "with 99 places none of four symbols is left out"
    assert 150 < min(missing.values()) <= max(missing.values()) < 250, "200 each, with a standard deviation of 13"


@pytest.mark.parametrize(("task", "kinds"), [(Copy(data_symbols=2), 9), (Copy(data_symbols=128), 9)])
def test_any_number_of_symbols(task: Copy, kinds: int) -> None:
    assert len(task.hard_kinds) == kinds
    for kind in task.hard_kinds:
        symbols = jax.device_get(task.sample_hard(KEY, 16, 6, 6, kind)).inputs[1:7]
        assert symbols.min() >= 0
        assert symbols.max() < task.data_symbols


ORDERS: dict[str, Callable[[list[int]], bool]] = {
    "in order": lambda order: order == sorted(order),
    "in reverse": lambda order: order == sorted(order)[::-1],
    "rotated": lambda order: order != sorted(order) and order == [(order[0] + at) % 8 for at in range(8)],
    "neighbours exchanged": lambda order: order == [1, 0, 3, 2, 5, 4, 7, 6],
}


@pytest.mark.parametrize("kind", ORDERS)
def test_priorities_are_in_the_order_of_their_kind(kind: str) -> None:
    orders = [[int(pair.partition(":")[0]) for pair in text.split()] for text in texts(Letters(), 8, kind)]
    assert [order for order in orders if not ORDERS[kind](order)] == []
    assert len(set(map(tuple, orders))) > 3 or kind != "rotated"


class Letters(PrioritySort):
    """Values without blanks, so that a text can be split at them."""

    alphabet: ClassVar[str] = "".join(map(chr, range(0x4E00, 0x4E00 + 125)))


@pytest.mark.parametrize("task", [RepeatCopy(text_size=6), PrioritySort()], ids=task_name)
@pytest.mark.parametrize("kind", ["one symbol", "repeated word"])
def test_values_between_marks_show_their_pattern(task: Task, kind: str) -> None:
    batch = hard(task, 6, kind)
    values = [[name for name in given(task, batch, row) if name != "<s>"] for row in range(16)]
    texts = list(map("".join, values))
    if kind == "one symbol":
        assert [text for text in texts if len(set(text)) > 1] == []
    else:
        assert sum(text[0] == text[2] for text in texts) >= 1, "words of two symbols: one of seven"
        assert sum(text[0] == text[3] for text in texts) >= 1, "of three"
    assert len(set(texts)) > 8


def test_bigrams_count_twice() -> None:
    text = texts(BigramFlip(unit="bigrams"), LONGEST // 2, "palindrome")[0]
    assert len(text) == LONGEST
    assert text == text[::-1]


NUMBERS: dict[str, Callable[[str], bool]] = {
    "nines": lambda text: text == "9" * LONGEST,
    "fives": lambda text: text == "5" * LONGEST,
    "zeros": lambda text: text == "0" * LONGEST,
    "fours above a carry": lambda text: text[:-1] == "4" * (LONGEST - 1) and text[-1] in "56789",
    "fours and fives": lambda text: set(text) == {"4", "5"},
    "leading zeros": lambda text: text.startswith("0" * (LONGEST // 2)),
    "trailing zeros": lambda text: text.endswith("0" * (LONGEST // 2)),
    "one symbol": SEQUENCES["one symbol"],
    "palindrome": SEQUENCES["palindrome"],
}


@pytest.mark.parametrize("kind", NUMBERS)
def test_numbers_to_double_are_what_they_are_called(kind: str) -> None:
    shown = texts(Double(), LONGEST, kind)
    assert [text for text in shown if not NUMBERS[kind](text)] == []
    assert len(set(shown)) > 4 or kind in ("nines", "fives", "zeros")


NINES, ZEROS, ONE = "9" * LONGEST, "0" * LONGEST, "1".zfill(LONGEST)

PAIRS: dict[str, Callable[[str, str], bool]] = {
    "carry chain": lambda x, y: sorted(sums(x, y))[:-1] == [9] * (LONGEST - 1) and max(sums(x, y)) > 9,
    "sums of nine": lambda x, y: set(sums(x, y)) == {9},
    "nines": lambda x, y: (x, y) == (NINES, NINES),
    "nines and one": lambda x, y: {x, y} == {NINES, ONE},
    "zeros": lambda x, y: (x, y) == (ZEROS, ZEROS),
    "number and zero": lambda x, y: (x == ZEROS) != (y == ZEROS),
    "equal digits": lambda x, y: len(set(x)) == len(set(y)) == 1,
    "equal numbers": lambda x, y: x == y and len(set(x)) > 1,
    "two digits": lambda x, y: len(set(x + y)) == 2,
    "short and long": lambda x, y: min(x, y).startswith("0" * (LONGEST // 2)) and max(x, y)[:4] != "0000",
    "round numbers": lambda x, y: x.endswith("0" * (LONGEST // 2)) and y.endswith("0" * (LONGEST // 2)),
}


@pytest.mark.parametrize("kind", PAIRS)
def test_numbers_to_add_are_what_they_are_called(kind: str) -> None:
    assert [pair for pair in pairs(LONGEST, kind) if not PAIRS[kind](*pair)] == []


def test_carries_travel_far() -> None:
    """In random sums half of the places carry too, but each carry is made anew and is passed on by one place of ten."""
    shares = [carries(*pair) / LONGEST for pair in pairs(LONGEST, "carry chain")]
    assert np.mean(shares) >= 0.8
    assert shares.count(1.0) >= 8, "most chains begin at the lowest place"
    assert min(shares) < 1, "but not all"
    assert all(carries(*pair) == 0 for pair in pairs(LONGEST, "sums of nine"))


def test_runs_of_places_that_make_a_carry_pass_it_on_or_end_it() -> None:
    shown = [
        [["end", "pass", "make"][1 + np.sign(total - 9)] for total in sums(*p)]
        for p in pairs(LONGEST, "runs of carries")
    ]
    assert {kind for kinds in shown for kind in kinds} == {"end", "pass", "make"}
    passed = [len(list(group)) for kinds in shown for kind, group in itertools.groupby(kinds) if kind == "pass"]
    assert max(passed) >= 6, "a carry is often passed on over many places"
    assert min(passed) < 6


@pytest.mark.parametrize("kind", ["nines and one", "number and zero", "short and long"])
def test_either_number_may_come_first(kind: str) -> None:
    assert {int(left) < int(right) for left, right in pairs(LONGEST, kind)} == {True, False}


OPERANDS: dict[str, Callable[[set[int]], bool]] = {
    "zeros": lambda operands: operands == {0},
    "ones": lambda operands: operands == {1},
    "nines": lambda operands: operands == {9999},
    "equal": lambda operands: len(operands) == 1,
    "neighbours": lambda operands: max(operands) - min(operands) <= 1,
    "edges": lambda operands: operands <= {0, 1, 1000, 9999},
}


@pytest.mark.parametrize("kind", OPERANDS)
def test_programs_have_the_operands_of_their_kind(kind: str) -> None:
    task = Programs(kinds="identity+if+substitution+addition+loop")  # 2*1 does not show which is the operand
    found = []
    for text in texts(task, 4, kind):
        filling = task._understand(text).filling
        found.append({int(number) for name, number in filling.items() if name in "abcd"})
    assert [operands for operands in found if not OPERANDS[kind](operands)] == []
    assert len(set(map(frozenset, found))) == 1 or kind in ("equal", "neighbours", "edges")


class Plain(NumberTask):
    """A task that says nothing about hard problems."""

    name: ClassVar[str] = "plain"
    train_lengths: ClassVar[Lengths] = Lengths(2, 4)

    def input_size(self, length: Count) -> Count:
        return length

    output_size = input_size

    def output(self, symbols: jax.Array, length: jax.Array) -> jax.Array:
        return symbols

    def read(self, text: str) -> list[int]:
        return list(map(int, text))

    def expected(self, text: str) -> str:
        return text


class Sorted(Copy):
    """A task whose inputs have structure, which patterns would not have."""

    def draw(self, key: jax.Array, length: jax.Array, room: int) -> jax.Array:
        return jnp.arange(room, dtype="int32")


@pytest.mark.parametrize("task", [Plain(), Sorted()])
def test_a_task_without_hard_problems_draws_ordinary_ones(task: Task) -> None:
    assert task.hard_kinds == ()
    for ours, theirs in zip(
        jax.tree.leaves(task.sample_hard(KEY, 4, 3, 8)), jax.tree.leaves(task.sample(KEY, 4, 3, 8)), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)
    with pytest.raises(LantmError, match="has no hard problems of the kind 'nines': it has none"):
        task.sample_hard(KEY, 4, 3, 8, "nines")


def test_unknown_kinds() -> None:
    with pytest.raises(LantmError, match="copy has no hard problems of the kind 'nines': known are one symbol, one"):
        Copy().sample_hard(KEY, 4, 3, 8, "nines")

"""Batches of tasks whose sizes follow from the length: layout, masks, mixed lengths, compilation, text."""

import collections
import doctest
import importlib
import pkgutil
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lantm.tasks
from lantm.errors import LantmError
from lantm.tasks import (
    TASKS,
    Addition,
    Batch,
    BigramFlip,
    Copy,
    Double,
    Lengths,
    OddFirst,
    PrioritySort,
    RepeatCopy,
    Reverse,
    SizedTask,
    Task,
    make_task,
)

ALL_TASKS = [
    *(task for task in map(make_task, TASKS) if isinstance(task, SizedTask)),
    BigramFlip(unit="bigrams"),
    Double(highest_first=True),
]


def task_name(task: Task) -> str:
    return TASKS.name_of(task, ignored=("train_lengths",))


every_task = pytest.mark.parametrize("task", ALL_TASKS, ids=task_name)

one_of_each_family = pytest.mark.parametrize("task", [Copy(), Addition()])

KEY = jax.random.key(2016)
BATCH_SIZE, LONGEST = 4, 8  # the same shapes in most tests, which compile once


def sample(task: Task, key: jax.Array, batch_size: int, length: int | jax.Array, capacity_length: int) -> Batch:
    """A batch of NumPy arrays, whose slices compile nothing."""
    return jax.device_get(task.sample(key, batch_size, length, capacity_length))


def problem(batch: Batch, row: int) -> tuple[list[int], list[int]]:
    """The inputs and the answer of one problem, found without the task's own arithmetic."""
    inputs = batch.inputs[1 : int(batch.writes[row]), row]
    return inputs.tolist(), batch.targets[batch.mask[:, row], row].tolist()


def assert_same_arrays(left: Batch, right: Batch) -> None:
    for ours, theirs in zip(jax.tree.leaves(left), jax.tree.leaves(right), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@every_task
def test_layout(task: Task) -> None:
    length = 4
    batch = sample(task, KEY, BATCH_SIZE, length, LONGEST)
    writes = 1 + task.input_size(length)
    steps = writes + task.answer_size(length)

    assert batch.inputs.shape == batch.targets.shape == batch.mask.shape == (task.capacity(8), BATCH_SIZE)
    assert batch.inputs.dtype == batch.targets.dtype == jnp.int32
    assert batch.steps == steps == task.steps(length) == task.capacity(length)
    np.testing.assert_array_equal(batch.writes, [writes] * BATCH_SIZE)

    np.testing.assert_array_equal(batch.inputs[0], task.start)
    assert np.all(batch.inputs[1:writes] < task.data_symbols + isinstance(task, RepeatCopy | PrioritySort))  # marks
    np.testing.assert_array_equal(batch.inputs[writes:], task.end_of_input)
    np.testing.assert_array_equal(
        batch.mask.sum(axis=1),
        [0] * writes + [BATCH_SIZE] * (steps - writes) + [0] * (len(batch.mask) - steps),
    )
    assert np.all(batch.targets[writes : steps - 1] < task.data_symbols)
    np.testing.assert_array_equal(batch.targets[steps - 1], task.end_of_output)


@pytest.mark.parametrize(
    ("name", "input_size", "answer_size", "steps"),
    [("copy", 5, 6, 12), ("reverse", 5, 6, 12), ("double", 5, 7, 13), ("addition", 10, 7, 18)],
)
def test_sizes_at_length_five(name: str, input_size: int, answer_size: int, steps: int) -> None:
    task = make_task(name)
    assert (task.input_size(5), task.answer_size(5), task.steps(5)) == (input_size, answer_size, steps)
    assert jax.jit(task.steps)(5) == steps


@pytest.mark.parametrize(
    ("name", "vocabulary", "markers"),
    [(name, 128, (125, 126, 127)) for name in ("copy", "reverse", "bigramFlip")]
    + [(name, 14, (10, 11, 12)) for name in ("double", "addition")],
)
def test_vocabulary(name: str, vocabulary: int, markers: tuple[int, int, int]) -> None:
    task = make_task(name)
    assert task.vocabulary == vocabulary
    assert (task.start, task.end_of_input, task.end_of_output) == markers
    assert [task.symbol_name(symbol) for symbol in markers] == ["<s>", "</s>", "<e>"]
    assert len({task.symbol_name(symbol) for symbol in range(vocabulary)}) == vocabulary


def test_nothing_recompiles_for_another_length() -> None:
    traces = collections.Counter[str]()

    @jax.jit
    def step(key: jax.Array) -> Batch:
        traces["step"] += 1
        key_length, key_problems = jax.random.split(key)
        return Copy().sample(key_problems, 4, Copy().lengths_at(1).sample(key_length), 64)

    steps = {int(step(key).steps) for key in jax.random.split(KEY, 20)}
    assert len(steps) > 5
    assert traces["step"] == 1


def test_tasks_with_equal_fields_share_a_compilation() -> None:
    traces = collections.Counter[Task]()

    def step(task: Task) -> jax.Array:
        traces[task] += 1
        return jnp.zeros(())

    compiled = jax.jit(step, static_argnums=0)
    for task in (Copy(), Copy(), Reverse(), Copy(data_symbols=128), Copy(train_lengths=Lengths(2, 64))):
        compiled(task)
    assert traces == {Copy(): 1, Reverse(): 1, Copy(data_symbols=128): 1}


@every_task
def test_mixed_lengths_are_the_problems_laid_out_alone(task: Task) -> None:
    lengths = [2, LONGEST, 4, 6]
    mixed = sample(task, KEY, BATCH_SIZE, jnp.array(lengths), LONGEST)
    assert mixed.steps == task.steps(LONGEST)
    for row, length in enumerate(lengths):
        symbols, answer = problem(mixed, row)
        beyond = [7] * (task.input_size(LONGEST) - len(symbols))  # are ignored
        alone = jax.device_get(task.layout(jnp.array([symbols + beyond]), length))
        for field in ("inputs", "targets", "mask"):
            np.testing.assert_array_equal(getattr(mixed, field)[:, row], getattr(alone, field)[:, 0])
        assert (mixed.writes[row], task.steps(length)) == (alone.writes[0], alone.steps)
        assert len(answer) == task.answer_size(length)
        np.testing.assert_array_equal(mixed.inputs[int(alone.steps) :, row], task.end_of_input)
        np.testing.assert_array_equal(mixed.targets[int(alone.steps) :, row], task.end_of_output)


@every_task
def test_one_length_equals_the_same_length_for_each(task: Task) -> None:
    one_length = sample(task, KEY, BATCH_SIZE, 4, LONGEST)
    assert_same_arrays(one_length, sample(task, KEY, BATCH_SIZE, jnp.full(BATCH_SIZE, 4), LONGEST))


@every_task
def test_capacities_hold_every_length_that_fits(task: Task) -> None:
    for length in (jnp.array(2), jnp.array([2, 2, 4, LONGEST])):
        batch = sample(task, KEY, BATCH_SIZE, length, LONGEST)
        answering = batch.mask.any(axis=1).nonzero()[0]
        assert batch.write_capacity == 1 + task.input_size(LONGEST) >= batch.writes.max()
        assert len(batch.mask) >= batch.answer_capacity >= answering[-1] + 1 - answering[0]
    together = sample(task, KEY, BATCH_SIZE, LONGEST, LONGEST)
    assert together.answer_capacity == together.mask[:, 0].sum()


@pytest.mark.parametrize("task", [Copy(), Addition(), RepeatCopy(), PrioritySort()])
def test_a_problem_depends_neither_on_capacity_nor_on_batch_size(task: Task) -> None:
    small, large = sample(task, KEY, 3, 4, 4), sample(task, KEY, BATCH_SIZE, 4, LONGEST)
    assert [problem(small, row) for row in range(3)] == [problem(large, row) for row in range(3)]


@every_task
def test_problems_differ_between_keys_and_rows(task: Task) -> None:
    first, second, again = (sample(task, jax.random.key(seed), BATCH_SIZE, 8, LONGEST) for seed in (0, 1, 0))
    problems = [str(problem(batch, row)) for batch in (first, second) for row in range(BATCH_SIZE)]
    assert len(set(problems)) == len(problems)
    assert_same_arrays(first, again)


@one_of_each_family
def test_input_symbols_are_uniform(task: Task) -> None:
    batch = sample(task, KEY, 2000, 8, 8)
    data = batch.inputs[1 : 1 + task.input_size(8)]
    counts = np.bincount(data.ravel(), minlength=task.data_symbols)
    expected = data.size / task.data_symbols
    np.testing.assert_allclose(counts, expected, atol=5 * expected**0.5)
    assert abs(np.corrcoef(data)[np.triu_indices(len(data), 1)]).max() < 0.12  # places are independent


def text_of(task: Task, draw: Callable[[st.SearchStrategy[str]], str]) -> str:
    """A problem of up to 4 symbols or digits, as a person might write it."""
    if task.alphabet == "0123456789":
        numbers = st.text(task.alphabet, min_size=1, max_size=4)
        return f"{draw(numbers)} + {draw(numbers)}" if isinstance(task, Addition) else draw(numbers)
    text = draw(st.text(task.alphabet, min_size=2, max_size=4))
    if isinstance(task, RepeatCopy):
        return f"{draw(st.integers(1, 4))}:{text}"
    if isinstance(task, PrioritySort):
        return " ".join(f"{at}:{value}" for at, value in draw(st.permutations(list(enumerate(text)))))
    return text[: len(text) // 2 * 2] if isinstance(task, BigramFlip | OddFirst) else text


@every_task
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_the_generator_agrees_with_plain_python(task: Task, data: st.DataObject) -> None:
    text = text_of(task, data.draw)
    batch = jax.device_get(task.encode(text))
    assert batch.inputs.shape == (int(batch.steps), 1)
    symbols, answer = problem(batch, 0)
    assert symbols == task.read(text)
    assert task.read(task.written([task.symbol_name(symbol) for symbol in symbols])) == symbols
    assert answer[-1] == task.end_of_output
    assert task.decode_answer(answer) == task.expected(text)


@every_task
@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_any_answer_can_be_shown(task: Task, data: st.DataObject) -> None:
    answer = data.draw(st.lists(st.integers(0, task.vocabulary - 1), max_size=20))
    shown = task.decode_answer(answer)
    given_symbols = answer[: answer.index(task.end_of_output)] if task.end_of_output in answer else answer
    for symbol in given_symbols:
        if symbol >= task.data_symbols:
            assert task.symbol_name(symbol) in shown
    assert task.decode_answer([*given_symbols, task.end_of_output, 0, 1]) == shown
    assert task.decode_answer(np.asarray(answer, dtype=int)) == shown


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("copy", "", "copy needs at least one symbol"),
        ("copy", "naïve", "copy has no symbol for 'ï': use only the characters “ !\"#$%&'()*"),
        ("copy", "a\nb", r"copy has no symbol for '\n'"),
        ("copy", "a" * 1_000_001, "copy has no problems of length 1,000,001: use up to 1,000,000"),
        ("copy", "a" * 2_000_001, "copy takes up to 2,000,000 characters, not 2,000,001: shorten the text"),
        ("bigramFlip", "abc", "bigramFlip has no problems of length 3: use a multiple of 2, as 2 or 4"),
        ("double", "", "double cannot read '' as a number: write digits 0 to 9 only"),
        ("double", "12a", "double cannot read '12a' as a number"),
        ("double", "-5", "double cannot read '-5' as a number"),
        ("double", "٣", "double cannot read '٣' as a number"),
        ("addition", "423", "addition needs two numbers, not '423': write them as '423 + 94'"),
        ("addition", "423 +", "addition needs two numbers, not '423 +': write them as '423 + 94'"),
        ("addition", "1 + 2 + 3", "addition cannot read '2 + 3' as a number"),
        ("oddFirst", "abc", "oddFirst has no problems of length 3: use a multiple of 2, as 2 or 4"),
        ("repeatCopy", "hello", "repeatCopy cannot read 'hello': write a count of at least 1, and a text, as in"),
        ("repeatCopy", "0:hello", "repeatCopy cannot read '0:hello': write a count of at least 1"),
        ("repeatCopy", "3:", "repeatCopy cannot read '3:'"),
        ("repeatCopy", "2:naïve", "repeatCopy has no symbol for 'ï': use only the characters “ !"),
        ("repeatCopy", "50001:a", "repeatCopy repeats up to 50,000 times and up to 1,000,000 symbols, not 1 symbols"),
        ("repeatCopy", "2:" + 600_000 * "a", "repeatCopy repeats up to 50,000 times and up to 1,000,000 symbols, not"),
        ("repeatCopy[text_size=0]", "1:a", "repeatCopy cannot repeat texts of 0 symbols: use text_size=1 or more"),
        ("prioritySort", "cab", "prioritySort cannot read 'cab': write pairs of a priority and a character"),
        ("prioritySort", "0:a1:b", "prioritySort cannot read '0:a1:b': write pairs of a priority and a character"),
        ("prioritySort", "0:a 2:b", "prioritySort needs the priorities 0 to 1 for 2 values, each once: '0:a 2:b' has"),
        ("prioritySort", "0:a 0:b", "prioritySort needs the priorities 0 to 1 for 2 values, each once"),
        ("prioritySort", "0:ï", "prioritySort has no symbol for 'ï'"),
        ("prioritySort", " ".join(f"{n}:a" for n in range(1001)), "prioritySort sorts up to 1,000 values, not 1,001"),
        ("addition", "x" * 5000 + "+1", "addition cannot read 'xxxxxxxxxxxx...xxxxxxxxxxxxx' as a number"),
    ],
)
def test_what_people_are_told(name: str, text: str, message: str) -> None:
    with pytest.raises(LantmError) as caught:
        make_task(name).encode(text)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_half_a_bigram_has_no_length() -> None:
    with pytest.raises(LantmError, match="no problems of 3 input symbols: the next larger size is 4"):
        BigramFlip(unit="bigrams").encode("abc")


def test_unknown_tasks() -> None:
    first, second = ["copy", "reverse", "bigramFlip", "double", "addition"], ["oddFirst", "repeatCopy", "prioritySort"]
    assert list(TASKS) == [*first, *second, "programs"]
    with pytest.raises(LantmError, match="did you mean 'reverse'"):
        make_task("revers")


@pytest.mark.parametrize("module", ["", *(f".{one.name}" for one in pkgutil.iter_modules(lantm.tasks.__path__))])
def test_examples_in_docstrings(module: str) -> None:
    assert doctest.testmod(importlib.import_module(f"lantm.tasks{module}")).failed == 0

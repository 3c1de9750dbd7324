"""The tasks of the second paper, symbol by symbol."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lantm.tasks import Batch, Double, Lengths, OddFirst, PrioritySort, RepeatCopy, Task, make_task


def shown(task: Task, symbols: np.ndarray) -> str:
    return " ".join(task.symbol_name(int(symbol)) for symbol in symbols)


@pytest.mark.parametrize(
    ("name", "text", "inputs", "answer"),
    [
        ("oddFirst", "abcdef", "a b c d e f", "a c e b d f <e>"),
        # The authors' data: the mark is the symbol that begins every problem, and there are N + 1 of them.
        ("repeatCopy", "3:ab", "<s> <s> <s> a b", "a b a b a b <e>"),
        # ... and one more than the first priority.
        ("prioritySort", "2:c 0:a 1:b", "<s> <s> c a <s> b", "a b c <e>"),
        ("prioritySort", "0:x", "x", "x <e>"),
        ("double[highest_first=true]", "829", "8 2 9", "1 6 5 8 <e>"),
        ("double[highest_first=true]", "100", "1 0 0", "0 2 0 0 <e>"),
    ],
)
def test_worked_problems(name: str, text: str, inputs: str, answer: str) -> None:
    task = make_task(name)
    batch = jax.device_get(task.encode(text))
    writes = int(batch.writes[0])
    assert shown(task, batch.inputs[:writes, 0]) == f"<s> {inputs}"
    assert set(batch.inputs[writes:, 0]) == {task.end_of_input}
    assert shown(task, batch.targets[batch.mask]) == answer
    assert batch.mask[:, 0].tolist() == [False] * writes + [True] * (int(batch.steps) - writes)


@pytest.mark.parametrize(
    ("task", "lengths"),
    [
        (OddFirst(), [Lengths(2, 32, 2), Lengths(34, 64, 2), Lengths(128, 128, 2)]),
        (RepeatCopy(), [Lengths(1, 5), Lengths(6, 10), Lengths(20, 20)]),
        (PrioritySort(), [Lengths(2, 10), Lengths(11, 20), Lengths(40, 40)]),
        (Double(highest_first=True), [Lengths(2, 40), Lengths(41, 80), Lengths(160, 160)]),
    ],
    ids=lambda value: value.name if isinstance(value, Task) else "",
)
def test_lengths_at_one_two_and_four_times(task: Task, lengths: list[Lengths]) -> None:
    assert [task.lengths_at(scale) for scale in (1, 2, 4)] == lengths


def problems(task: Task, length: int, capacity: int) -> list[tuple[list[int], list[int]]]:
    """Inputs and answers, without their markers, of random problems."""
    batch: Batch = jax.device_get(task.sample(jax.random.key(length), 64, length, capacity))
    found = []
    for row in range(64):
        answer = batch.targets[batch.mask[:, row], row].tolist()
        assert answer.pop() == task.end_of_output
        found.append((batch.inputs[1 : int(batch.writes[row]), row].tolist(), answer))
    return found


@pytest.mark.parametrize("length", [2, 30])
def test_random_odd_first(length: int) -> None:
    for given, answer in problems(OddFirst(), length, 32):
        assert len(given) == length
        assert answer == given[0::2] + given[1::2]


@pytest.mark.parametrize("times", [1, 5, 10])
def test_random_repeats(times: int) -> None:
    task = RepeatCopy()
    for given, answer in problems(task, times, 10):
        marks, text = given[:times], given[times:]
        assert set(marks) == {task.start}
        assert len(text) == 20
        assert max(text) < task.data_symbols
        assert answer == times * text


@pytest.mark.parametrize("values", [1, 2, 9, 20])
def test_random_sorting(values: int) -> None:
    task, orders = PrioritySort(), set()
    for given, answer in problems(task, values, 20):
        pairs, priority = [], 0
        for symbol in given:
            if symbol == task.start:
                priority += 1
            else:
                pairs.append((priority, symbol))
                priority = 0
        order = [priority for priority, _ in pairs]
        orders.add(tuple(order))
        assert sorted(order) == list(range(values))
        assert answer == [symbol for _, symbol in sorted(pairs)]
    assert len(orders) > 50 or values < 9


def test_all_orders_are_equally_likely() -> None:
    batch = jax.device_get(PrioritySort().sample(jax.random.key(0), 6000, 3, 10))
    marks = batch.inputs[1:7] == PrioritySort().start
    counts = np.unique(marks, axis=1, return_counts=True)[1]
    assert len(counts) == 6
    assert 870 < counts.min() <= counts.max() < 1130, "1,000 each, with a standard deviation of 29"


@pytest.mark.parametrize("length", [1, 7, 40])
def test_random_doubles_with_the_highest_digit_first(length: int) -> None:
    for given, answer in problems(Double(highest_first=True), length, 40):
        number = int("".join(map(str, given)))
        assert "".join(map(str, answer)) == str(2 * number).zfill(length + 1)


@pytest.mark.parametrize(
    "task",
    [
        PrioritySort(),
        *(pytest.param(task, marks=pytest.mark.thorough) for task in (RepeatCopy(), Double(highest_first=True))),
    ],
)
def test_one_program_draws_all_lengths(task: Task) -> None:
    """Inside compiled code the length is traced."""
    compiled = jax.jit(lambda key, length: task.sample(key, 4, length, 8))
    for length in (2, 8):
        ours, theirs = compiled(jax.random.key(0), jnp.array(length)), task.sample(jax.random.key(0), 4, length, 8)
        np.testing.assert_array_equal(ours.inputs, theirs.inputs)
        np.testing.assert_array_equal(ours.targets, theirs.targets)

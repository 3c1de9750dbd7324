"""Copy, reverse and bigramFlip, symbol by symbol."""

import jax
import numpy as np
import pytest

from lantm.tasks import BigramFlip, Copy, Reverse, SequenceTask


def shown(task: SequenceTask, symbols: jax.Array) -> str:
    return " ".join(task.symbol_name(int(symbol)) for symbol in symbols[:, 0])


@pytest.mark.parametrize(
    ("task", "answer"),
    [
        (Copy(), "a b c d <e>"),
        (Reverse(), "d c b a <e>"),
        (BigramFlip(), "b a d c <e>"),
        (BigramFlip(unit="bigrams"), "b a d c <e>"),
    ],
)
def test_worked_problem(task: SequenceTask, answer: str) -> None:
    batch = task.encode("abcd")
    assert shown(task, batch.inputs) == "<s> a b c d </s> </s> </s> </s> </s>"
    assert shown(task, batch.targets) == "<e> <e> <e> <e> <e> " + answer
    np.testing.assert_array_equal(batch.mask[:, 0], [False] * 5 + [True] * 5)
    assert batch.steps == 10
    np.testing.assert_array_equal(batch.writes, [5])


@pytest.mark.parametrize(("task", "step"), [(Copy(), 1), (Reverse(), -1)])
def test_long_random_problems(task: SequenceTask, step: int) -> None:
    batch = task.sample(jax.random.key(1), 16, 700, 1000)
    inputs, targets = np.asarray(batch.inputs), np.asarray(batch.targets)
    np.testing.assert_array_equal(targets[701:1401], inputs[1:701][::step])
    np.testing.assert_array_equal(targets[1401], task.end_of_output)


@pytest.mark.parametrize(("task", "length"), [(BigramFlip(), 700), (BigramFlip(unit="bigrams"), 350)])
def test_long_random_bigrams(task: SequenceTask, length: int) -> None:
    batch = task.sample(jax.random.key(1), 16, length, length + 100)
    inputs, targets = np.asarray(batch.inputs), np.asarray(batch.targets)
    np.testing.assert_array_equal(targets[701:1401:2], inputs[2:701:2])
    np.testing.assert_array_equal(targets[702:1401:2], inputs[1:701:2])
    np.testing.assert_array_equal(targets[1401], task.end_of_output)


def test_the_alphabet_is_ascii_and_then_greek() -> None:
    task = Copy()
    assert task.read(" ~") == [0, 94]
    assert task.read("αΩ") == [95, 124]
    names = [task.symbol_name(symbol) for symbol in range(125)]
    assert len(set(names)) == 125
    assert all(len(name) == 1 and name.isprintable() for name in names)


def test_the_other_reading_of_the_vocabulary() -> None:
    task = Copy(data_symbols=128)
    assert task.vocabulary == 131
    assert [task.symbol_name(symbol) for symbol in (124, 125, 127, 128, 130)] == [
        "Ω",
        "⟨125⟩",
        "⟨127⟩",
        "<s>",
        "<e>",
    ]
    assert int(task.sample(jax.random.key(0), 16, 700, 1000).inputs[1:701].max()) == 127


def test_an_answer_shows_its_markers() -> None:
    task = Copy()
    a, b = task.read("ab")
    assert task.decode_answer([a, task.start, b, task.end_of_input, task.end_of_output, a]) == "a<s>b</s>"
    assert task.decode_answer([task.end_of_output]) == ""

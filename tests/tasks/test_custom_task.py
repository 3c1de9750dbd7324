"""The example of a task of one's own, found by its module."""

import sys
from pathlib import Path

import jax
import numpy as np
import pytest

from lantm.errors import LantmError
from lantm.tasks import Copy, Task, make_task

ROOT = Path(__file__).parents[2]


@pytest.fixture
def every_second(monkeypatch: pytest.MonkeyPatch) -> Task:
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "path", sys.path[:])
    return make_task("examples.every_second:EverySecond")


def test_worked_problem(every_second: Task) -> None:
    batch = every_second.encode("abcde")
    names = [every_second.symbol_name(int(symbol)) for symbol in batch.targets[:, 0]]
    assert names == ["<e>"] * 6 + ["a", "c", "e", "<e>"]
    assert every_second.decode_answer(batch.targets[6:, 0]) == every_second.expected("abcde") == "ace"


@pytest.mark.parametrize("length", [1, 4, 7])
def test_random_problems(every_second: Task, length: int) -> None:
    batch = every_second.sample(jax.random.key(0), 5, length, 8)
    inputs, targets = np.asarray(batch.inputs), np.asarray(batch.targets)
    kept = (length + 1) // 2
    np.testing.assert_array_equal(targets[1 + length : 1 + length + kept], inputs[1 : 1 + length : 2])
    np.testing.assert_array_equal(batch.mask.sum(axis=0), kept + 1)


def test_a_kind_of_hard_problems_of_its_own(every_second: Task) -> None:
    assert every_second.hard_kinds == (*Copy().hard_kinds, "blanks between")
    for length in (1, 5, 8):
        batch = jax.device_get(every_second.sample_hard(jax.random.key(0), 16, length, 8, "blanks between"))
        dropped = batch.inputs[2 : 1 + length : 2]
        assert {every_second.symbol_name(int(symbol)) for symbol in dropped.ravel()} <= {" "}
        kept = batch.inputs[1 : 1 + length : 2]
        np.testing.assert_array_equal(batch.targets[1 + length : 1 + length + len(kept)], kept)
        assert len(set(kept.ravel().tolist())) > 8


def test_something_that_is_no_task(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", sys.path[:])
    with pytest.raises(LantmError, match="not a Task"):
        make_task("pathlib:Path")

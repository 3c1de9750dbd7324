"""The time left, from given numbers."""

import pytest

from lantm.cli.time_left import Work, seconds_left

LSTM, PAPER, ROBUST = ("lstm", "paper", "copy"), ("lantm", "paper", "copy"), ("lantm", "robust", "copy")


def test_nothing_is_known_yet() -> None:
    assert seconds_left([], 10.0) == 0
    assert seconds_left([Work(PAPER, 1000, 0.0, 0.0, 0.0)], 10.0) == 0
    assert seconds_left([Work(PAPER, 1000, 0.5, 0.5, 10.0)], 10.0) == 0, "what was done before says nothing"


def test_what_earlier_processes_did_took_no_time() -> None:
    """A tenth of 1,000 problems in 20 s; half are left."""
    assert seconds_left([Work(PAPER, 1000, 0.4, 0.5, 20.0)], 20.0) == pytest.approx(100)


def test_every_kind_has_its_own_speed() -> None:
    done = [Work(PAPER, 1000, 0.0, 1.0, 10.0), Work(LSTM, 100, 0.0, 1.0, 50.0)]
    assert seconds_left([*done, Work(LSTM, 100, 0.0, 0.0, 0.0)], 60.0) == pytest.approx(50)
    assert seconds_left([*done, Work(PAPER, 500, 0.0, 0.0, 0.0)], 60.0) == pytest.approx(5)


def test_a_new_kind_is_as_fast_as_the_most_similar_one() -> None:
    done = [Work(PAPER, 1000, 0.0, 1.0, 10.0), Work(LSTM, 100, 0.0, 1.0, 50.0)]
    assert seconds_left([*done, Work(ROBUST, 1000, 0.0, 0.0, 0.0)], 60.0) == pytest.approx(10), "of the same model"
    assert seconds_left([*done, Work(("ntm",), 1100, 0.0, 0.0, 0.0)], 60.0) == pytest.approx(60), "of all"


def test_scoring_of_a_shared_training_takes_time_too() -> None:
    """10 s of training and 5 of scoring for 1,000 problems; 1,000 are left."""
    works = [Work(PAPER, 1000, 0.0, 1.0, 10.0), Work(PAPER, 0, 0.0, 1.0, 5.0), Work(PAPER, 1000, 0.0, 0.0, 0.0)]
    assert seconds_left(works, 15.0) == pytest.approx(15)


def test_every_training_begins_with_a_compilation() -> None:
    """20 s each; then 100 problems of 1,000 took 5 s."""
    works = [Work(PAPER, 1000, 0.1, 0.2, 5.0, 20.0), *[Work(PAPER, 1000, 0.0, 0.0, 0.0)] * 2]
    assert seconds_left(works, 25.0) == pytest.approx(40 + 2 * (20 + 50))
    compiling = [Work(PAPER, 1000, 0.001, 0.001, 0.0, 20.0), *works[1:]]
    assert seconds_left(compiling, 20.0) == 0, "one call, which was compiled, says nothing"


def test_side_by_side() -> None:
    """Two at a time, each 1,000 problems in 30 s."""
    works = [Work(PAPER, 1000, 0.0, 1.0, 30.0)] * 2 + [Work(PAPER, 1000, 0.0, 0.0, 0.0)] * 4
    assert seconds_left(works, 30.0) == pytest.approx(60)

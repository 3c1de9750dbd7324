"""Which weights and which seed are the best: one rule for scores and for perplexities."""

import math

import numpy as np
import pytest

from lantm.evaluation import Measured, Perplexity, Score, Scores, best_seed, merits
from lantm.tasks import Lengths


def scores(coarse: list[float], fine: list[float] | None = None) -> Scores:
    """One score per seed."""
    zeros = np.zeros(len(coarse))
    return Scores(Lengths(2, 4), np.array(coarse, float), zeros if fine is None else np.array(fine), zeros, problems=1)


def perplexity(*values: float) -> Perplexity:
    return Perplexity(np.log(values), tokens=100)


def ranks(*tests: Measured, select_by: Score = "coarse", shorter_first: bool = False) -> list[int]:
    """The seeds, the worst first."""
    return np.argsort(merits(tests, select_by, shorter_first)).tolist()


def test_either_score_may_choose_and_the_other_decides_between_equals() -> None:
    one = scores([9, 8, 9], fine=[60.0, 70, 65])
    assert ranks(one) == [1, 0, 2]
    assert ranks(one, select_by="fine") == [0, 2, 1]
    assert best_seed([one], "coarse") == 2
    assert best_seed([one], "fine") == 1
    equal = scores([50, 50, 50], fine=[62.5, 87.5, 75])
    assert best_seed([equal], "coarse") == 1
    assert best_seed([scores([50, 0], fine=[50.0, 75])], "coarse") == 0, "coarse comes first"
    assert best_seed([scores([0, 50], fine=[75.0, 75])], "fine") == 1


def test_the_best_is_that_of_the_mean_over_all_tests() -> None:
    tests = [scores([90, 80, 0]), scores([0, 80, 90])]
    assert ranks(*tests)[-1] == 1
    assert best_seed(tests, "coarse") == 1
    assert (best_seed(tests[:1], "coarse"), best_seed(tests[1:], "coarse")) == (0, 2)


def test_lucky_tests_at_long_lengths_do_not_outweigh_short_ones() -> None:
    """One seed per column: what is best by its mean, and what is best by what it solves, shorter lengths first."""
    tests = [scores([100, 100, 100, 50]), scores([95, 99, 95, 100]), scores([60, 20, 100, 100])]
    assert ranks(*tests) == [1, 3, 0, 2]
    assert ranks(*tests, shorter_first=True) == [3, 0, 2, 1]


@pytest.mark.parametrize("select_by", ["coarse", "fine"])
@pytest.mark.parametrize("shorter_first", [False, True])
def test_of_a_text_the_lowest_perplexity_is_the_best(select_by: Score, shorter_first: bool) -> None:
    text = perplexity(120.0, 80.5, 80.0, 300.0)
    assert ranks(text, select_by=select_by, shorter_first=shorter_first) == [3, 0, 1, 2]
    assert best_seed([text], select_by) == 2
    assert not text.solved.any(), "a text is never solved"


def test_a_seed_whose_loss_is_no_number_is_never_the_best() -> None:
    for place in range(3):
        values = [50.0, 40.0, 40.0]
        values[place] = math.nan
        assert best_seed([perplexity(*values)], "coarse") != place


def test_perplexities_of_some_seeds() -> None:
    text = perplexity(120.0, math.inf, 80.0)
    np.testing.assert_allclose(text.values, [120, math.inf, 80])
    some = text.among(np.array([2, 0]))
    np.testing.assert_allclose(some.values, [80, 120])
    assert some.tokens == 100
    assert some.by_seed(1) == {"perplexity": 120.0}
    assert text.by_seed(1) == {"perplexity": None}, "JSON has no word for infinity"

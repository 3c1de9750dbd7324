"""Intervals: Wilson's against its definition, and for batches of one length how often they hold the true score."""

import numpy as np
import pytest

from lantm.evaluation import Marks, Scores, clustered, wilson
from lantm.evaluation.interval import beta_binomial
from lantm.tasks import Lengths


@pytest.mark.parametrize(("right", "problems"), [(0, 10), (3, 10), (50, 64), (127, 128), (128, 128)])
def test_the_bounds_are_just_not_refuted(right: int, problems: int) -> None:
    """At a bound p, the counted share is 1.96 standard deviations sqrt(p (1 - p) / n) away, or p is 0 or 1."""
    for bound in wilson(right, problems):
        deviation = (bound * (1 - bound) / problems) ** 0.5
        if right not in (0, problems) or 0 < bound < 1:
            assert abs(right / problems - bound) == pytest.approx(1.96 * deviation, rel=1e-9)
    low, high = wilson(right, problems)
    assert 0 <= low <= right / problems <= high <= 1


def test_nothing_is_known_of_no_problems() -> None:
    assert wilson(0, 0) == (0.0, 1.0)


@pytest.mark.parametrize("power", [1, pytest.param(16, marks=pytest.mark.thorough)], ids=["middle", "high"])
def test_few_batches_hold_it_too(power: int) -> None:
    """A machine that fails at the longest lengths more and more: in 20 batches, few are of these."""
    draws, random = 600, np.random.default_rng(0)
    chances = 1 - np.linspace(0, 1, 63) ** power
    right = random.binomial(32, chances[random.integers(0, 63, (draws, 20))])
    held = [low <= chances.mean() <= high for low, high in (clustered(batches, 32) for batches in right)]
    assert 0.93 < np.mean(held) < 0.98


def test_a_mistake_says_no_more_than_none() -> None:
    """One wrong answer in 640 must not make the lengths that were not drawn known."""
    none, one = np.full(20, 32), np.array([31] + 19 * [32])
    assert clustered(none, 32)[0] < clustered(one, 32)[0] < 0.95
    low, high = clustered(one, 32)
    assert low < one.mean() / 32 < high


def test_a_beta_distribution_is_found() -> None:
    """Of many batches whose chances are drawn from it; the interval is as wide as their scatter says."""
    random = np.random.default_rng(0)
    right = random.binomial(16, random.beta(2, 1, 400))
    low, high = beta_binomial(right, 16)
    assert low < 2 / 3 < high
    error = 1.96 * float(np.std(right / 16)) / 400**0.5
    assert (high - low) / 2 == pytest.approx(error, rel=0.1)


@pytest.mark.parametrize(
    "fails_beyond",
    [pytest.param(3, marks=pytest.mark.thorough), 32, pytest.param(60, marks=pytest.mark.thorough)],
    ids=["low", "middle", "high"],
)
def test_it_holds_the_true_score_in_95_of_100_draws(fails_beyond: int) -> None:
    """A machine that fails beyond a length, with 100 batches of 32 problems of one length each: Wilson's fails."""
    draws, random = 1000, np.random.default_rng(0)
    chances = 1 / (1 + np.exp(np.arange(1, 64) - fails_beyond))
    right = random.binomial(32, chances[random.integers(0, 63, (draws, 100))])
    truth = chances.mean()

    def coverage(intervals: list[tuple[float, float]]) -> float:
        return float(np.mean([low <= truth <= high for low, high in intervals]))

    assert 0.93 < coverage([clustered(batches, 32) for batches in right]) < 0.97
    assert coverage([wilson(int(batches.sum()), 3200) for batches in right]) < 0.5


def test_batches_that_have_nothing_in_common_are_as_good_as_problems() -> None:
    random = np.random.default_rng(0)
    for share in (0.1, 0.5):
        widths = []
        for _ in range(200):
            right = random.binomial(32, share, 100)
            (low, high), (least, most) = clustered(right, 32), wilson(int(right.sum()), 3200)
            widths.append((high - low) / (most - least))
        assert np.mean(widths) == pytest.approx(1.03, abs=0.03)


def test_all_right_and_none() -> None:
    """The rule of three, for batches: of 100 without a mistake, up to 3 or 4 of 100 lengths may be wrong."""
    low, high = clustered(np.full(100, 32), 32)
    assert high == 1
    assert 1 - 4 / 100 < low < 1 - 3 / 100
    assert clustered(np.zeros(100, int), 32) == pytest.approx((0, 1 - low))
    assert clustered(np.array([32]), 32)[0] < 0.3, "one batch is one length"


def test_scores_know_whether_lengths_differ() -> None:
    right = np.array([[[4, 4], [0, 0], [4, 4], [4, 4]]])
    marks = Marks(right, np.full_like(right, 4), right)
    one, several = Scores.of(Lengths(4, 4), marks), Scores.of(Lengths(2, 4), marks)
    np.testing.assert_allclose(one.intervals, [100 * np.array(wilson(6, 8))])
    np.testing.assert_allclose(several.intervals, [100 * np.array(clustered(np.array([2, 0, 2, 2]), 2))])
    assert several.intervals[0, 0] < one.intervals[0, 0]
    np.testing.assert_allclose(several.among(np.array([0])).intervals, several.intervals)

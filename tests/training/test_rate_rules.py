"""How the rate falls: the plateau rule on losses, and the validation rule on tests, of tasks and texts alike."""

import dataclasses
import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from parrot import learners, run_epochs

from lantm.evaluation import Measured, Perplexity, Scores, merits
from lantm.paper.presets import preset
from lantm.tasks import Copy, Lengths
from lantm.training import EpochReport, Learner, Recipe
from lantm.training.learner import close_epoch, learn_from_test, remember_best

TASK = Copy(data_symbols=5, train_lengths=Lengths(2, 9))
RECIPE = Recipe(learning_rate=0.05, epochs=4, batches=2, batch_size=4)


@functools.cache
def begun(recipe: Recipe = RECIPE) -> Learner:
    """One seed before its first epoch."""
    return jax.tree.map(lambda leaf: leaf[0], learners(recipe, TASK, [0]))


def close(
    recipe: Recipe, learner: Learner, losses: list[float], epoch: int, counts: tuple[float, ...] = ()
) -> tuple[Learner, EpochReport]:
    """Ends an epoch whose batches had these losses."""
    learner = learner._replace(losses=jnp.array(losses), norms=jnp.ones(len(losses)))
    return close_epoch(recipe, learner, jnp.array(counts or [1.0] * len(losses), float), jnp.asarray(epoch))


def simulated_rates(recipe: Recipe, losses: np.ndarray) -> list[float]:
    """The rule as the paper states it, epoch by epoch: the rate that each epoch is trained at."""
    rate, best, best_epoch, rates = recipe.learning_rate, np.inf, 0, []
    for epoch, loss in enumerate(losses, start=1):
        rates.append(rate)
        if loss < best:
            best, best_epoch = loss, epoch
        elif epoch >= recipe.plateau_start and epoch - best_epoch >= recipe.plateau_patience:
            rate, best_epoch = rate * recipe.plateau_factor, epoch
    return rates


def test_the_plateau_rule_against_a_simulation() -> None:
    recipe = Recipe(
        learning_rate=0.5,  # so high that losses jump
        plateau_start=12,
        plateau_patience=3,
        plateau_factor=0.3,
        batches=1,
        batch_size=2,
    )
    _, reports = run_epochs(recipe, TASK, learners(recipe, TASK, [0, 1, 2]), 50)
    losses, rates = np.asarray(reports.loss, np.float64), np.asarray(reports.rate)
    for seed in range(3):
        np.testing.assert_allclose(rates[:, seed], simulated_rates(recipe, losses[:, seed]), rtol=1e-5)
    falls = (np.diff(rates, axis=0) < 0).sum(axis=0)
    assert falls.min() >= 2, "the rule was at work"
    assert (rates[:12] == rates[0]).all(), "not before its time"
    assert (rates != rates[:, :1]).any(), "for every seed by itself"


@pytest.mark.thorough
@settings(max_examples=60, deadline=None)
@given(
    losses=st.lists(st.sampled_from([1.0, 2.0, 3.0, math.nan]), min_size=12, max_size=12),
    begin=st.integers(0, 8),
    patience=st.integers(1, 4),
)
def test_the_plateau_rule_for_any_losses(losses: list[float], begin: int, patience: int) -> None:
    recipe = dataclasses.replace(RECIPE, plateau_start=begin, plateau_patience=patience)
    learner = begun()
    rates = []
    for epoch, loss in enumerate(losses, start=1):
        learner, report = close(recipe, learner, [loss], epoch)
        rates.append(float(report.rate))
    np.testing.assert_allclose(rates, simulated_rates(recipe, np.array(losses)), rtol=1e-5)


def simulated_validation(recipe: Recipe, tests: list[float]) -> list[float]:
    """The paper's rule for programs: what is left of the rate after each test; a test is taken every tenth epoch."""
    scale, scales = 1.0, []
    for number, fine in enumerate(tests, start=1):
        before = tests[max(0, number - 1 - 4) : number - 1]
        if before and fine < max(before) and number * 10 >= max(recipe.plateau_start, 50 * bool(recipe.curriculum)):
            scale *= recipe.plateau_factor
        scales.append(scale)
    return scales


@settings(max_examples=60, deadline=None)
@given(
    tests=st.lists(st.sampled_from([10.0, 20.0, 30.0, 40.0]), min_size=10, max_size=10),
    begin=st.sampled_from([0, 30]),
    curriculum=st.sampled_from([0.0, 0.5]),
)
def test_the_validation_rule_for_any_tests(tests: list[float], begin: int, curriculum: float) -> None:
    recipe = dataclasses.replace(
        RECIPE, schedule="validation", epochs=100, plateau_start=begin, plateau_factor=0.8, curriculum=curriculum
    )
    learner = begun()
    scales = []
    for number, fine in enumerate(tests, start=1):
        learner = learn_from_test(recipe, learner, jnp.asarray(fine), jnp.asarray(10 * number))
        scales.append(float(learner.rate_scale))
    np.testing.assert_allclose(scales, simulated_validation(recipe, tests), rtol=1e-5)


def test_under_the_validation_rule_losses_do_not_count() -> None:
    recipe = dataclasses.replace(RECIPE, schedule="validation", plateau_start=0, plateau_patience=1)
    learner = begun()
    for epoch in (1, 2, 3):
        learner, report = close(recipe, learner, [1.0], epoch)
    assert float(report.rate) == pytest.approx(recipe.learning_rate)


def test_the_loss_of_an_epoch_counts_symbols_and_only_finite_ones() -> None:
    """Two batches of twenty words and one of ten: the mean is that of all words."""
    learner = begun()
    closed, report = close(RECIPE, learner, [1.0, 2.0, 5.0], 1, counts=(20, 20, 10))
    assert float(report.loss) == pytest.approx((20 + 40 + 50) / 50)
    assert int(closed.batch) == 0, "the next epoch begins with its first batch"
    _, report = close(RECIPE, learner, [1.0, math.nan, 5.0], 1, counts=(20, 20, 10))
    assert float(report.loss) == pytest.approx((20 + 50) / 30)
    _, report = close(RECIPE, learner, [math.nan, math.inf], 1)
    assert np.isnan(report.loss)


# Tests of both kinds.


def scores(fine: float) -> Measured:
    return Scores(Lengths(2, 4), np.zeros(1), np.array([fine]), np.zeros(1), problems=1)


def perplexity(loss: float) -> Measured:
    return Perplexity(np.array([loss]), tokens=9)


@pytest.mark.parametrize(
    ("recipe", "tests"),
    [
        (
            preset("text", "lstm").recipe,
            [perplexity(loss) for loss in (5.0, 4.0, 4.5, 4.2, 4.2, 4.3, 3.9, math.nan)],
        ),
        (
            Recipe(schedule="validation", plateau_start=0, validation_memory=1, select_by="fine"),
            [scores(fine) for fine in (50.0, 60.0, 55.0, 58.0, 58.0, 57.0, 61.0, 10.0)],
        ),
    ],
    ids=["text", "task"],
)
def test_the_rate_is_halved_when_a_test_is_worse_than_the_one_before(recipe: Recipe, tests: list[Measured]) -> None:
    """ "Halved each time the validation perplexity exceeded that of the previous epoch": the last, not the best."""
    recipe = dataclasses.replace(recipe, learning_rate=0.8)
    learner = begun(recipe)
    rates, best = [], []
    for epoch, test in enumerate(tests, start=1):
        marked = jax.tree.map(lambda leaf, epoch=epoch: jnp.full_like(leaf, epoch), learner.model)
        merit, score = jnp.asarray(merits([test], recipe.select_by)[0]), jnp.asarray(test.ranking("fine")[0][0])
        learner = remember_best(learner._replace(model=marked), merit, jnp.asarray(epoch))
        learner = learn_from_test(recipe, learner, score, jnp.asarray(epoch))
        rates.append(float(recipe.rate(jnp.asarray(epoch), learner.rate_scale)))
        best.append(int(learner.best_epoch))
        assert float(learner.best_model.readout.bias[0]) == best[-1]
    assert rates == pytest.approx([0.8, 0.8, 0.4, 0.4, 0.4, 0.2, 0.2, 0.1])
    assert best == [1, 2, 2, 2, 2, 2, 7, 7]


def test_the_geometric_rule_is_the_second_papers() -> None:
    """The rate of the epochs up to `plateau_start`, and of one more, which ends with the first fall."""
    recipe = Recipe(learning_rate=0.02, schedule="geometric", plateau_start=3, plateau_factor=0.99, epochs=10)
    rate, by_hand = 0.02, []
    for number in range(1, 11):  # the authors' loop: "if iter > decay_delay then rate = rate * decay_rate"
        by_hand.append(rate)
        if number > 3:
            rate *= 0.99
    rates = [float(recipe.rate(jnp.asarray(epoch), jnp.ones(()))) for epoch in range(10)]
    np.testing.assert_allclose(rates, by_hand, rtol=1e-6)

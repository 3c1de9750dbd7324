"""An epoch: what every switch of the recipe does to it, the lengths, and seeds that fail."""

import dataclasses
import functools
import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array
from parrot import Parrot, learners, run_epochs

from lantm.batch import Batch
from lantm.machine import Noise, Schedule
from lantm.machine.backend import Backend
from lantm.randomness import TRAIN, seed_key, shared_key
from lantm.tasks import Copy, Lengths
from lantm.training import EpochReport, Learner, Recipe
from lantm.training.learner import remember_best
from lantm.training.recipe import PATIENCE

TASK = Copy(data_symbols=5, train_lengths=Lengths(2, 9))
RECIPE = Recipe(learning_rate=0.05, epochs=4, batches=2, batch_size=4, clip=0.2)


@functools.cache
def begun() -> Learner:
    """Three seeds before their first epoch."""
    return learners(RECIPE, TASK, [0, 1, 2])


def weights(learner: Learner, index: int) -> list[np.ndarray]:
    return [np.asarray(leaf)[index] for leaf in jax.tree.leaves(learner.model)]


@pytest.fixture(scope="module")
def three_seeds() -> tuple[Learner, EpochReport]:
    return run_epochs(RECIPE, TASK, begun(), 4)


# A whole training by hand.


@pytest.mark.parametrize(
    "recipe",
    [
        pytest.param(RECIPE, marks=pytest.mark.thorough),
        dataclasses.replace(RECIPE, optimiser="adam", schedule="cosine", batches=3, batch_size=2),
    ],
    ids=["rmsprop", "adam, cosine"],
)
def test_epochs_by_hand(recipe: Recipe) -> None:
    """Step by step with the rules of the recipe, which have tests of their own."""
    ended, reports = run_epochs(recipe, TASK, learners(recipe, TASK, [0, 1, 2]), 4)
    model = jax.tree.map(lambda leaf: leaf[1], learners(recipe, TASK, [0, 1, 2]).model)
    transform = recipe.transform()
    state = transform.init(model)

    def loss(model: Parrot, batch: Batch) -> Array:
        given = jax.nn.log_softmax(model(batch).logits)
        likelihood = jnp.take_along_axis(given, batch.targets[..., None], axis=-1)[..., 0]
        return -jnp.mean(likelihood, where=batch.mask)

    @jax.jit
    def step(model: Parrot, state: Any, epoch: Array, at: Array) -> tuple[Parrot, Any, Array]:
        (key,) = jax.random.split(shared_key(TRAIN, epoch, at), 1)
        length = TASK.train_lengths.sample(key)
        batch = TASK.sample(seed_key(1, TRAIN, epoch, at), recipe.batch_size, length, 9)
        value, gradients = jax.value_and_grad(loss)(model, batch)
        steps, state = transform.update(gradients, state)
        rate = recipe.rate(epoch, jnp.ones(()))
        return jax.tree.map(lambda weight, step: weight - rate * step, model, steps), state, value

    for epoch in range(1, 5):
        losses = []
        for at in range(recipe.batches):
            model, state, value = step(model, state, jnp.asarray(epoch), jnp.asarray(at))
            losses.append(float(value))
        assert float(reports.loss[epoch - 1, 1]) == pytest.approx(np.mean(losses), rel=1e-5)
        assert float(reports.rate[epoch - 1, 1]) == pytest.approx(float(recipe.rate(jnp.asarray(epoch), jnp.ones(()))))
    for one, other in zip(weights(ended, 1), jax.tree.leaves(model), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


# Lengths.


TOLD: list[np.ndarray] = []


class Witness(Parrot):
    """A parrot that tells the lengths of the problems it is given."""

    def run(
        self,
        inputs: Array,
        schedule: Schedule,
        carried: Any,
        backend: Backend = "auto",
        noise: Noise | None = None,
    ) -> tuple[Array, Any]:
        jax.debug.callback(lambda writes: TOLD.append(writes - 1), schedule.writes, ordered=True)
        return super().run(inputs, schedule, carried)


def as_kind(started: Learner, kind: type[Parrot]) -> Learner:
    """The same seeds with parrots of another kind, of the same weights."""
    model = object.__new__(kind)
    for name, value in vars(started.model).items():
        object.__setattr__(model, name, value)
    return started._replace(model=model, best_model=model, optimiser=jax.vmap(RECIPE.transform().init)(model))


def lengths_in_use(seed: int = 0, **changes: Any) -> np.ndarray:
    """The lengths of all problems, of shape (epochs, batches, problems)."""
    recipe = dataclasses.replace(RECIPE, epochs=16, batches=3, **changes)
    TOLD.clear()
    run_epochs(recipe, TASK, as_kind(learners(recipe, TASK, [seed]), Witness), 16, one_by_one=True)
    jax.effects_barrier()
    return np.stack(TOLD).reshape(16, 3, 4)


def test_a_batch_has_one_length_and_lengths_cover_the_range() -> None:
    lengths = lengths_in_use()
    assert (lengths == lengths[:, :, :1]).all()
    assert set(lengths.ravel().tolist()) == set(range(2, 10))


def test_all_seeds_train_on_the_same_lengths() -> None:
    np.testing.assert_array_equal(lengths_in_use(seed=0), lengths_in_use(seed=9))


def test_mixed_lengths_share_a_batch() -> None:
    lengths = lengths_in_use(mixed_lengths=True)
    assert (lengths != lengths[:, :, :1]).any(axis=-1).mean() > 0.8, "in nearly all batches of four"
    assert set(lengths.ravel().tolist()) == set(range(2, 10))


def test_a_curriculum_begins_with_the_shortest() -> None:
    lengths = lengths_in_use(curriculum=0.5)
    for epoch in range(1, 17):
        allowed = math.ceil(8 * min(1.0, epoch / 8))  # of eight lengths, all of them from half of the epochs on
        assert lengths[epoch - 1].max() <= 1 + allowed
    assert lengths[0].max() == 2
    assert lengths[8:].max() == 9


# Seeds.


def broken(started: Learner, fault: str) -> Learner:
    """The same seeds, of which the second cannot learn."""

    def spoil(value: float) -> Learner:
        bias = started.model.readout.bias.at[1, 0].set(value)
        return started._replace(model=eqx.tree_at(lambda model: model.readout.bias, started.model, bias))

    if fault == "loss":
        return spoil(jnp.nan)
    if fault == "infinity":
        return spoil(jnp.inf)
    # Every single gradient is finite, but not their norm.
    weight = started.model.readout.weight.at[1].multiply(1e25)
    return started._replace(model=eqx.tree_at(lambda model: model.readout.weight, started.model, weight))


@pytest.mark.parametrize("one_by_one", [False, True], ids=["at once", "one by one"])
@pytest.mark.parametrize("fault", ["loss", "infinity", "norm"])
def test_a_seed_that_fails_is_skipped_counted_and_marked_alone(fault: str, one_by_one: bool) -> None:
    recipe = dataclasses.replace(RECIPE, batches=8)
    unspoiled = learners(recipe, TASK, [0, 1, 2])
    started = broken(unspoiled, fault)
    whole, whole_reports = run_epochs(recipe, TASK, unspoiled, 4, one_by_one)
    ended, reports = run_epochs(recipe, TASK, started, 4, one_by_one)

    np.testing.assert_array_equal(reports.skipped, [[0, 8, 0], [0, 16, 0], [0, 24, 0], [0, 32, 0]])
    np.testing.assert_array_equal(reports.diverged[:, 1], [False, False, True, True])  # after 20 steps in a row
    for before, after in zip(weights(started, 1), weights(ended, 1), strict=True):
        np.testing.assert_array_equal(before, after)
    if fault == "loss":
        assert np.isnan(reports.loss[:, 1]).all()

    for seed in (0, 2):
        for one, other in zip(jax.tree.leaves((whole, whole_reports)), jax.tree.leaves((ended, reports)), strict=True):
            at = (slice(None), seed) if one.ndim == 2 and one.shape[0] == 4 else seed
            np.testing.assert_array_equal(one[at], other[at], "bit for bit")


def test_a_seed_with_an_enormous_rate_fails_alone(three_seeds: tuple[Learner, EpochReport]) -> None:
    whole, whole_reports = three_seeds
    started = begun()
    ended, reports = run_epochs(RECIPE, TASK, started._replace(rate_scale=started.rate_scale.at[1].set(1e38)), 4)
    assert reports.skipped[-1].tolist()[1] > 0
    for seed in (0, 2):
        np.testing.assert_array_equal(reports.loss[:, seed], whole_reports.loss[:, seed])
        for one, other in zip(weights(ended, seed), weights(whole, seed), strict=True):
            np.testing.assert_array_equal(one, other)


class Moody(Parrot):
    """A parrot that loses its mind at odd lengths."""

    def run(
        self,
        inputs: Array,
        schedule: Schedule,
        carried: Any,
        backend: Backend = "auto",
        noise: Noise | None = None,
    ) -> tuple[Array, Any]:
        features, carried = super().run(inputs, schedule, carried)
        return jnp.where(schedule.writes[0] % 2 == 1, features, jnp.nan), carried


def test_a_seed_that_fails_now_and_then_goes_on() -> None:
    recipe = dataclasses.replace(RECIPE, batches=16)
    started = as_kind(learners(recipe, TASK, [0]), Moody)
    ended, reports = run_epochs(recipe, TASK, started, 4)
    assert PATIENCE < int(reports.skipped[-1, 0]) < 54, "about half of 64 steps, more than would mark it in a row"
    assert not reports.diverged.any()
    assert np.isfinite(reports.loss).all(), "the loss of an epoch is that of its finite steps"
    assert np.isfinite(reports.gradient_norm).all()
    assert float(reports.loss[-1, 0]) < float(reports.loss[0, 0])
    assert all(np.isfinite(leaf).all() for leaf in weights(ended, 0))


# The best weights.


def test_the_best_weights_are_kept_and_of_equals_the_later() -> None:
    learner = jax.tree.map(lambda leaf: leaf[0], learners(RECIPE, TASK, [0]))
    scores, kept = [10.0, 5.0, 10.0, 9.0, 30.0], [1, 1, 3, 3, 5]
    for epoch, (score, expected) in enumerate(zip(scores, kept, strict=True), start=1):
        learner = learner._replace(model=jax.tree.map(lambda leaf: jnp.full_like(leaf, epoch), learner.model))  # noqa: B023
        learner = remember_best(learner, jnp.asarray(score), jnp.asarray(epoch))
        assert int(learner.best_epoch) == expected
        assert float(learner.best_model.readout.bias[0]) == expected
        assert float(learner.best_score) == max(scores[:epoch])

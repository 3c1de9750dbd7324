"""One seed's training, as pure functions: what is carried from epoch to epoch, and one epoch of it."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import lax
from jaxtyping import Array, Bool, Float, Int, PyTree

from lantm.batch import Batch
from lantm.evaluation import answer
from lantm.machine import Model
from lantm.seeds import INITIALISE, TRAIN, seed_key, shared_key
from lantm.tasks import Task
from lantm.training.experiment import Experiment
from lantm.training.loss import negative_log_likelihood
from lantm.training.recipe import Recipe


class Learner(NamedTuple):
    """All that one seed's training depends on, besides the experiment and the epoch."""

    seed: Int[Array, ""]
    model: Model
    optimiser: PyTree
    rate_scale: Float[Array, ""]  # what plateaus have made of the learning rate
    best_loss: Float[Array, ""]
    best_age: Int[Array, ""]  # epochs since the best loss, or since the rate fell
    recent: Float[Array, " tests"]  # fine scores of the last tests, newest last; below zero: not yet taken
    best_model: Model  # the weights with the best test so far
    best_score: Float[Array, ""]
    best_epoch: Int[Array, ""]


class EpochReport(NamedTuple):
    """What is known of a seed after an epoch."""

    loss: Float[Array, ""]
    gradient_norm: Float[Array, ""]
    rate: Float[Array, ""]
    skipped: Int[Array, ""]  # steps skipped so far, for want of a finite loss and gradient
    diverged: Bool[Array, ""]


def begin(experiment: Experiment, task: Task, seed: Int[Array, ""]) -> Learner:
    """A seed before its first epoch."""
    model = experiment.machine.build(task.vocabulary, seed_key(seed, INITIALISE))
    return Learner(
        seed=seed,
        model=model,
        optimiser=experiment.recipe.transform().init(model),
        rate_scale=jnp.ones(()),
        best_loss=jnp.full((), jnp.inf, float),
        best_age=jnp.zeros((), jnp.int32),
        recent=jnp.full((experiment.recipe.validation_memory,), -1.0, float),
        best_model=model,
        best_score=jnp.full((), -1.0, float),
        best_epoch=jnp.zeros((), jnp.int32),
    )


def train_epoch(recipe: Recipe, task: Task, learner: Learner, epoch: Int[Array, ""]) -> tuple[Learner, EpochReport]:
    """One epoch of one seed. Lengths are the same for all seeds, so that a program can run them in step."""
    longest = task.train_lengths.largest

    def step(learner: Learner, at: Array) -> tuple[Learner, tuple[Array, Array]]:
        keys = jax.random.split(shared_key(TRAIN, epoch, at), recipe.batch_size if recipe.mixed_lengths else 1)
        lengths = jax.vmap(lambda key: recipe.draw_length(task.train_lengths, epoch, key))(keys)
        lengths = lengths if recipe.mixed_lengths else lengths[0]
        key = seed_key(learner.seed, TRAIN, epoch, at)
        return _learn(recipe, learner, task.sample(key, recipe.batch_size, lengths, longest), epoch)

    learner, (losses, norms) = lax.scan(step, learner, jnp.arange(recipe.batches))
    return _close_epoch(recipe, learner, losses, norms, epoch)


def _learn(
    recipe: Recipe, learner: Learner, batch: Batch, epoch: Int[Array, ""]
) -> tuple[Learner, tuple[Float[Array, ""], Float[Array, ""]]]:
    """One step of one seed; one that is not finite changes nothing but the count of skipped steps."""

    def loss(model: Model) -> Float[Array, ""]:
        return negative_log_likelihood(answer(model, batch))

    value, gradients = jax.value_and_grad(loss)(learner.model)
    norm = optax.tree.norm(gradients)
    # A loss or norm that is not finite spoils the gradient too, so that the optimiser sees and skips it.
    finite = jnp.isfinite(value) & jnp.isfinite(norm)
    gradients = jax.tree.map(lambda g: jnp.where(finite, g, jnp.nan), gradients)
    steps, optimiser = recipe.transform().update(gradients, learner.optimiser, learner.model)
    rate = recipe.rate(epoch, learner.rate_scale)
    model = jax.tree.map(lambda weight, step: weight - rate * step, learner.model, steps)
    return learner._replace(model=model, optimiser=optimiser), (value, norm)


def _close_epoch(
    recipe: Recipe,
    learner: Learner,
    losses: Float[Array, " batches"],
    norms: Float[Array, " batches"],
    epoch: Int[Array, ""],
) -> tuple[Learner, EpochReport]:
    """The plateau rule: after `plateau_start` epochs, the rate falls when the best loss is too old."""
    loss = jnp.mean(losses, where=jnp.isfinite(losses))  # nan when no step was finite
    better = loss < learner.best_loss
    age = jnp.where(better, 0, learner.best_age + 1)
    falls = (recipe.schedule == "plateau") & (epoch >= recipe.plateau_start) & (age >= recipe.plateau_patience)
    report = EpochReport(
        loss=loss,
        gradient_norm=jnp.mean(norms, where=jnp.isfinite(norms)),
        rate=recipe.rate(epoch, learner.rate_scale),
        skipped=learner.optimiser.total_notfinite,
        diverged=learner.optimiser.notfinite_count >= recipe.patience,
    )
    learner = learner._replace(
        best_loss=jnp.where(better, loss, learner.best_loss),
        best_age=jnp.where(falls, 0, age),
        rate_scale=jnp.where(falls, learner.rate_scale * recipe.plateau_factor, learner.rate_scale),
    )
    return learner, report


def heed_test(recipe: Recipe, learner: Learner, fine: Float[Array, ""], epoch: Int[Array, ""]) -> Learner:
    """The validation rule: the rate falls whenever a test is worse than the best of the few before it."""
    begun = (epoch >= recipe.plateau_start) & (recipe.share_of_lengths(epoch) >= 1)
    falls = begun & (fine < jnp.max(learner.recent))
    return learner._replace(
        recent=jnp.append(learner.recent[1:], fine),
        rate_scale=jnp.where(falls, learner.rate_scale * recipe.plateau_factor, learner.rate_scale),
    )


def remember_best(learner: Learner, score: Float[Array, ""], epoch: Int[Array, ""]) -> Learner:
    """Keeps the weights of the best test so far; of equals the later, which were trained longer."""
    better = score >= learner.best_score
    return learner._replace(
        best_model=jax.tree.map(lambda new, old: jnp.where(better, new, old), learner.model, learner.best_model),
        best_score=jnp.where(better, score, learner.best_score),
        best_epoch=jnp.where(better, epoch, learner.best_epoch),
    )

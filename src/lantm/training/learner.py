"""One machine's training as pure functions: a step per batch, the best weights, and the rules (plateau, validation)
that lower the learning rate."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int, PyTree

from lantm.devices import on_cpu
from lantm.machine import Config, Model
from lantm.machine.loops import put_row
from lantm.randomness import INITIALISE, seed_key
from lantm.training.curriculum import Reached
from lantm.training.material import Given, Lessons
from lantm.training.recipe import PATIENCE, Recipe


class Learner(NamedTuple):
    """The complete training state of one machine, except for the experiment and the epoch."""

    seed: Int[Array, ""]
    model: Model
    optimiser: PyTree
    rate_scale: Float[Array, ""]  # factor of the learning rate, set by the schedule
    best_loss: Float[Array, ""]
    best_age: Int[Array, ""]  # epochs since the best loss, or since the rate was last lowered
    recent: Float[Array, " tests"]  # merits of the most recent tests, newest last; -inf where there was none
    best_model: Model  # the weights with the best test so far
    best_score: Float[Array, ""]
    best_epoch: Int[Array, ""]
    batch: Int[Array, ""]  # batches done in this epoch
    carried: PyTree  # carried between batches: state and memory for a text, the curriculum for a task
    losses: Float[Array, " batches"]  # of this epoch's batches
    norms: Float[Array, " batches"]  # gradient norms of this epoch's batches, before clipping


class EpochReport(NamedTuple):
    """The metrics of a machine after an epoch."""

    loss: Float[Array, ""]
    gradient_norm: Float[Array, ""]
    rate: Float[Array, ""]
    skipped: Int[Array, ""]  # steps skipped so far because loss or gradient was not finite
    diverged: Bool[Array, ""]
    longest: Int[Array, ""] | None  # current maximum length of an adaptive curriculum


def begin(machine: Config, lessons: Lessons, vocabulary: int, seed: Int[Array, ""]) -> Learner:
    """The initial state of a machine."""
    model = machine.build(vocabulary, seed_key(seed, INITIALISE))
    return Learner(
        seed=seed,
        model=model,
        optimiser=lessons.recipe.transform().init(model),
        rate_scale=jnp.ones(()),
        best_loss=jnp.full((), jnp.inf, float),
        best_age=jnp.zeros((), jnp.int32),
        recent=jnp.full((lessons.recipe.validation_memory,), -jnp.inf, float),
        best_model=model,
        best_score=jnp.full((), -jnp.inf, float),
        best_epoch=jnp.zeros((), jnp.int32),
        batch=jnp.zeros((), jnp.int32),
        carried=lessons.begin(model),
        losses=jnp.zeros(lessons.batches),
        norms=jnp.zeros(lessons.batches),
    )


def train_batches(
    lessons: Lessons,
    learner: Learner,
    data: PyTree,
    epoch: Int[Array, ""],
    first: Int[Array, ""],
    end: Int[Array, ""],
) -> Learner:
    """Trains on the batches `first` to `end` (exclusive) of an epoch.

    On an accelerator, all batches are drawn before the first step if they do not depend on what is learnt: drawing
    takes hundreds of small operations, and launching them one by one costs more than executing them.
    """

    def take(at: Int[Array, ""], learner: Learner) -> Given:
        return lessons.take(data, learner.seed, epoch, at, learner.carried)

    if not on_cpu() and lessons.independent:
        taken = jax.vmap(lambda at: take(at, learner))(jnp.arange(lessons.batches))

        def take(at: Int[Array, ""], learner: Learner) -> Given:
            return jax.tree.map(lambda rows: rows[at], taken)

    def step(at: Int[Array, ""], learner: Learner) -> Learner:
        return _learn(lessons, learner, take(at, learner), epoch, at)

    after: Learner = lax.fori_loop(first, end, step, learner)
    return after


def _learn(lessons: Lessons, learner: Learner, given: Given, epoch: Int[Array, ""], at: Int[Array, ""]) -> Learner:
    """One optimiser step; a non-finite one is skipped and counted."""
    import optax  # imported here because it slows the start of commands that do not train

    recipe = lessons.recipe

    def loss(model: Model) -> tuple[Float[Array, ""], PyTree]:
        return lessons.loss(model, given, learner.carried, at)

    (value, carried), gradients = jax.value_and_grad(loss, has_aux=True)(learner.model)
    norm = optax.tree.norm(gradients)
    # A non-finite loss or norm makes the whole gradient non-finite, so that the optimiser skips the step.
    finite = jnp.isfinite(value) & jnp.isfinite(norm)
    gradients = jax.tree.map(lambda g: jnp.where(finite, g, jnp.nan), gradients)
    steps, optimiser = recipe.transform().update(gradients, learner.optimiser, learner.model)
    rate = recipe.rate(epoch, learner.rate_scale)
    return learner._replace(
        model=jax.tree.map(lambda weight, step: weight - rate * step, learner.model, steps),
        optimiser=optimiser,
        batch=at + 1,
        carried=carried,
        losses=put_row(learner.losses, value, at),
        norms=put_row(learner.norms, norm, at),
    )


def close_epoch(
    recipe: Recipe, learner: Learner, counts: Float[Array, " batches"], epoch: Int[Array, ""]
) -> tuple[Learner, EpochReport]:
    """Ends an epoch. Plateau rule: after `plateau_start` epochs, the rate falls if the best loss is too old."""
    finite = jnp.isfinite(learner.losses)
    loss = jnp.sum(learner.losses * counts, where=finite) / jnp.sum(counts, where=finite)  # nan: no step was finite
    better = loss < learner.best_loss
    age = jnp.where(better, 0, learner.best_age + 1)
    falls = (recipe.schedule == "plateau") & (epoch >= recipe.plateau_start) & (age >= recipe.plateau_patience)
    report = EpochReport(
        loss=loss,
        gradient_norm=jnp.mean(learner.norms, where=jnp.isfinite(learner.norms)),
        rate=recipe.rate(epoch, learner.rate_scale),
        skipped=learner.optimiser.total_notfinite,
        diverged=learner.optimiser.notfinite_count >= PATIENCE,
        longest=learner.carried.longest if isinstance(learner.carried, Reached) else None,
    )
    learner = learner._replace(
        best_loss=jnp.where(better, loss, learner.best_loss),
        best_age=jnp.where(falls, 0, age),
        rate_scale=jnp.where(falls, learner.rate_scale * recipe.plateau_factor, learner.rate_scale),
        batch=jnp.zeros_like(learner.batch),
    )
    return learner, report


def learn_from_test(recipe: Recipe, learner: Learner, score: Float[Array, ""], epoch: Int[Array, ""]) -> Learner:
    """Validation rule: the rate falls if a test is worse than the best of the few tests before it."""
    begun = (epoch >= recipe.plateau_start) & (recipe.share_of_lengths(epoch) >= 1)
    falls = begun & ~(score >= jnp.max(learner.recent))  # true for nan as well
    return learner._replace(
        recent=jnp.append(learner.recent[1:], score),
        rate_scale=jnp.where(falls, learner.rate_scale * recipe.plateau_factor, learner.rate_scale),
    )


def remember_best(learner: Learner, merit: Float[Array, ""], epoch: Int[Array, ""]) -> Learner:
    """Keeps the weights with the best test so far; on a tie, the newer weights win."""
    better = merit >= learner.best_score
    return learner._replace(
        best_model=jax.tree.map(lambda new, old: jnp.where(better, new, old), learner.model, learner.best_model),
        best_score=jnp.where(better, merit, learner.best_score),
        best_epoch=jnp.where(better, epoch, learner.best_epoch),
    )

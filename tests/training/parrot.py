"""A model that compiles in no time: it answers by the symbol it sees, without a memory or a loop."""

import functools
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from lantm.batch import Batch
from lantm.machine import Model, Output, Schedule
from lantm.machine.backend import Backend
from lantm.machine.model import Linear
from lantm.seeds import INITIALISE, seed_key
from lantm.tasks import Task
from lantm.training import EpochReport, Learner, Recipe
from lantm.training.learner import train_epoch


class Parrot(Model):
    config: None = eqx.field(static=True)
    embedding: Float[Array, "vocabulary width"]
    readout: Linear

    def __init__(self, vocabulary: int, key: PRNGKeyArray, width: int = 3):
        self.config = None
        embedding_key, readout_key = jax.random.split(key)
        self.embedding = jax.random.normal(embedding_key, (vocabulary, width))
        self.readout = Linear(width, vocabulary, readout_key)

    def begin(self, batch_size: int, slots: int) -> PyTree:
        return None

    def run(
        self, inputs: Int[Array, "time batch"], schedule: Schedule, carried: PyTree, backend: Backend = "auto"
    ) -> tuple[Float[Array, "time batch width"], PyTree]:
        return jnp.tanh(self.embedding[inputs]), carried

    def trace(self, batch: Batch, read_weights: bool = False, backend: Backend = "auto") -> Output:
        return self(batch)


def learners(recipe: Recipe, task: Task, seeds: list[int]) -> Learner:
    """Parrots before their first epoch, one a seed."""

    def begin(seed: Int[Array, ""]) -> Learner:
        model = Parrot(task.vocabulary, seed_key(seed, INITIALISE))
        zero = jnp.zeros((), jnp.int32)
        infinite, least = jnp.full((), jnp.inf), jnp.full((), -1.0)
        recent = jnp.full((recipe.validation_memory,), -1.0)
        optimiser = recipe.transform().init(model)
        return Learner(seed, model, optimiser, jnp.ones(()), infinite, zero, recent, model, least, zero)

    return jax.vmap(begin)(jnp.asarray(seeds, jnp.int32))


def run_epochs(
    recipe: Recipe, task: Task, started: Learner, epochs: int, one_by_one: bool = False
) -> tuple[Learner, EpochReport]:
    """All epochs as one program: the seeds at the end, and reports of shape (epochs, seeds)."""
    return _program(recipe, task, epochs, one_by_one)(started)


@functools.cache
def _program(recipe: Recipe, task: Task, epochs: int, one_by_one: bool) -> Any:
    def epoch(learners: Learner, at: Int[Array, ""]) -> tuple[Learner, EpochReport]:
        def one(learner: Learner) -> tuple[Learner, EpochReport]:
            return train_epoch(recipe, task, learner, at)

        return jax.lax.map(one, learners) if one_by_one else jax.vmap(one)(learners)

    return eqx.filter_jit(lambda started: jax.lax.scan(epoch, started, jnp.arange(1, epochs + 1)))

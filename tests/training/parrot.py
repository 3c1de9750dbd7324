"""A model that compiles in no time: it answers by the symbol it sees, without a memory or a loop."""

import functools
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from lantm.batch import Batch
from lantm.machine import LantmConfig, Model, Noise, Output, Schedule
from lantm.machine.backend import Backend
from lantm.machine.model import Linear
from lantm.randomness import INITIALISE, seed_key
from lantm.tasks import Task
from lantm.training import EpochReport, Experiment, Learner, Recipe
from lantm.training.learner import begin, close_epoch, train_batches
from lantm.training.material import Material, ProblemMaterial


class Parrot(Model):
    config: None = eqx.field(static=True)
    embedding: Float[Array, "vocabulary width"]
    readout: Linear

    def __init__(self, vocabulary: int, key: PRNGKeyArray, width: int = 3):
        self.config = None
        embedding_key, readout_key = jax.random.split(key)
        self.embedding = jax.random.normal(embedding_key, (vocabulary, width))
        self.readout = Linear(width, vocabulary, readout_key)

    @property
    def learns_start(self) -> bool:
        return True

    def begin(self, batch_size: int, slots: int) -> PyTree:
        return None

    def run(
        self,
        inputs: Int[Array, "time batch"],
        schedule: Schedule,
        carried: PyTree,
        backend: Backend = "auto",
        noise: Noise | None = None,
    ) -> tuple[Float[Array, "time batch width"], PyTree]:
        return jnp.tanh(self.embedding[inputs]), carried

    def trace(self, batch: Batch, read_weights: bool = False, backend: Backend = "auto") -> Output:
        return self(batch)


def experiment(recipe: Recipe, seeds: int = 1) -> Experiment:
    """What a material and a learner are made for; its machine stands in for the parrot."""
    return Experiment("copy", "lantm-invnorm", LantmConfig(cells=1, embedding=1, memory_width=1), recipe, seeds=seeds)


def learners(recipe: Recipe, task: Task, seeds: list[int]) -> Learner:
    """Parrots before their first epoch, one per seed."""
    material = ProblemMaterial(experiment(recipe), task)

    def started(seed: Int[Array, ""]) -> Learner:
        model = Parrot(task.vocabulary, seed_key(seed, INITIALISE))
        usual = begin(experiment(recipe).machine, material.lessons, task.vocabulary, seed)
        return usual._replace(model=model, best_model=model, optimiser=recipe.transform().init(model))

    return jax.vmap(started)(jnp.asarray(seeds, jnp.int32))


def run_epochs(
    recipe: Recipe, task: Task, started: Learner, epochs: int, one_by_one: bool = False
) -> tuple[Learner, EpochReport]:
    """All epochs as one program: the seeds at the end, and reports of shape (epochs, seeds)."""
    return _program(recipe, task, epochs, one_by_one)(started)


def train_epoch(
    recipe: Recipe, material: Material, learner: Learner, epoch: Int[Array, ""]
) -> tuple[Learner, EpochReport]:
    """A whole epoch of one seed."""
    none, all_batches = jnp.asarray(0, jnp.int32), jnp.asarray(material.batches, jnp.int32)
    learner = train_batches(material.lessons, learner, material.data, epoch, none, all_batches)
    return close_epoch(recipe, learner, jnp.asarray(material.counts), epoch)


@functools.cache
def _program(recipe: Recipe, task: Task, epochs: int, one_by_one: bool) -> Any:
    material = ProblemMaterial(experiment(recipe), task)

    def epoch(learners: Learner, at: Int[Array, ""]) -> tuple[Learner, EpochReport]:
        def one(learner: Learner) -> tuple[Learner, EpochReport]:
            return train_epoch(recipe, material, learner, at)

        return jax.lax.map(one, learners) if one_by_one else jax.vmap(one)(learners)

    return eqx.filter_jit(lambda started: jax.lax.scan(epoch, started, jnp.arange(1, epochs + 1)))

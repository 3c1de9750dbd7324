"""The compiled programs of a training, and their compilation ahead of time.

Tracing and compiling for given shapes is cached for later calls, so one thread can prepare the next training while the
device is busy with another.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
from jax.sharding import Mesh
from jaxtyping import Array, Float, Int

from lantm.devices import compiled_once, device_mesh, place
from lantm.tasks import Source
from lantm.training.experiment import Experiment
from lantm.training.learner import Learner, close_epoch, learn_from_test, remember_best, train_batches
from lantm.training.material import Lessons, final_draw, make_material, periodic_draw
from lantm.training.recipe import Recipe
from lantm.training.starts import best_starts, start


class Programs(NamedTuple):
    """The compiled functions of a training, each for all machines at once."""

    train: Any
    """Trains on some batches of an epoch."""
    close: Any
    """Ends an epoch."""
    keep_best: Any
    """Keeps the best weights after a test."""
    heed: Any
    """Applies the validation rule to the learning rate after a test."""

    @classmethod
    def of(cls, lessons: Lessons, mesh: Mesh) -> "Programs":
        """The programs for some lessons; equal lessons share them."""
        return cls(
            # No donation: the state before a call must remain available for saving during the call.
            compiled_once(train_batches, mesh, lessons),
            compiled_once(close_epoch, mesh, lessons.recipe, donate_argnums=0),
            compiled_once(_remember_best, mesh),
            compiled_once(_learn_from_test, mesh, lessons.recipe),
        )


def compile_ahead(experiment: Experiment, source: Source) -> Learner:
    """Compiles the programs of epochs and tests; returns the shapes of the resulting learners."""
    material, mesh = make_material(experiment, source), device_mesh(experiment.machines)
    recipe, programs = experiment.recipe, Programs.of(material.lessons, mesh)
    learners = start(experiment, source, material, mesh)
    number = jnp.asarray(0, jnp.int32)
    programs.train.lower(learners, material.data, number, number, number).compile()
    for examiner, draw in ((material.tests, periodic_draw(recipe, 0)), (material.final, final_draw(recipe))):
        examiner.compile(learners.model, learners.seed, draw)
    programs.close.lower(learners, jnp.asarray(material.counts), jnp.asarray(0)).compile()
    pair = learners, place(jnp.zeros(experiment.machines), mesh)
    programs.keep_best.lower(pair, jnp.asarray(0)).compile()
    if recipe.schedule == "validation":
        programs.heed.lower(pair, jnp.asarray(0)).compile()
    return best_starts(experiment, learners)


# Learner and merit as a pair, mapped over seeds.


def _remember_best(pair: tuple[Learner, Float[Array, ""]], epoch: Int[Array, ""]) -> Learner:
    return remember_best(*pair, epoch)


def _learn_from_test(recipe: Recipe, pair: tuple[Learner, Float[Array, ""]], epoch: Int[Array, ""]) -> Learner:
    return learn_from_test(recipe, *pair, epoch)

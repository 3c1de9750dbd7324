"""Machines learn in curved key spaces as in the plane: the loss is seen to fall, and no gradient is not a number."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from parrot import train_epoch

from lantm.machine import LantmConfig
from lantm.training import Experiment, Recipe
from lantm.training.learner import begin
from lantm.training.material import ProblemMaterial

pytestmark = pytest.mark.thorough

RECIPE = Recipe(learning_rate=0.02, clip=1.0, epochs=12, batches=20, batch_size=8)


@pytest.mark.parametrize("geometry", ["disk", "translation", "se2"])
def test_the_loss_falls(geometry: str) -> None:
    """Two or three symbols out of six are to be copied."""
    machine = LantmConfig(
        geometry=geometry, cells=12, embedding=4, memory_width=6, forget_bias=1.0, initial_slot=False, state_range=0.0
    )
    experiment = Experiment("copy[data_symbols=6]", "lantm-invnorm", machine, RECIPE, seeds=1, lengths=(2, 3))
    task = experiment.build_task()
    material = ProblemMaterial(experiment, task)
    one_epoch = jax.jit(partial(train_epoch, RECIPE, material))
    learner, losses = begin(experiment.machine, material.lessons, task.vocabulary, jnp.int32(0)), []
    for epoch in range(1, RECIPE.epochs + 1):
        learner, report = one_epoch(learner, jnp.asarray(epoch))
        assert int(report.skipped) == 0, "every gradient was finite"
        losses.append(float(report.loss))
    assert losses[-1] < 0.6 * losses[0], losses
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(learner.model))

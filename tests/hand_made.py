"""Machines whose weights are set by hand: one that copies without a mistake, and two whose mistakes are known."""

import dataclasses

import equinox as eqx
import jax
import numpy as np

from examples.copy_by_hand import copy_machine
from lantm.machine import Lantm
from lantm.paper import preset
from lantm.tasks import make_task
from lantm.trained import Trained

TASK = make_task("copy")


def exact() -> Lantm:
    """Copies inputs of any length."""
    return copy_machine()


def confusing(one: str, other: str) -> Lantm:
    """Copies, but answers with either of two characters where the other was."""
    order = np.arange(TASK.vocabulary)
    pair = [TASK.alphabet.index(character) for character in (one, other)]
    order[pair] = pair[::-1]
    return eqx.tree_at(lambda model: model.readout.weight, exact(), exact().readout.weight[:, order])


def endless() -> Lantm:
    """Copies, but does not end its answers."""
    bias = exact().readout.bias.at[TASK.end_of_output].set(-1e6)
    return eqx.tree_at(lambda model: model.readout.bias, exact(), bias)


def trained(model: Lantm, name: str = "by hand") -> Trained:
    """A machine as if it had been trained."""
    experiment = dataclasses.replace(preset("copy", "lantm-invnorm", "paper"), machine=model.config, seeds=1)
    return Trained(
        name=name,
        experiment=experiment,
        source=TASK,
        epoch=0,
        start_seeds=np.array([experiment.first_seed], np.int32),
        best_weights=jax.tree.map(lambda leaf: np.asarray(leaf)[None], model),
        last_weights=None,
        merits=np.zeros(1),
        best_epochs=np.zeros(1, np.int32),
        trained={},
    )

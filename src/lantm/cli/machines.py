"""Trained machines as the commands take them: a run folder, a name of the zoo, or a machine's file."""

import dataclasses
import pathlib
import sys
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from lantm import zoo
from lantm.errors import LantmError
from lantm.machine import Model
from lantm.tasks import Task
from lantm.training import Experiment, RunFolder, load_learners


@dataclasses.dataclass(frozen=True)
class Trained:
    """The machines of all seeds of a run, or the one machine of the zoo or of a file."""

    source: str
    experiment: Experiment
    task: Task
    epoch: int
    seeds: Int[Array, " seeds"]
    best: Model
    """The weights with the best periodic test, with a leading axis of seeds."""
    last: Model | None
    """The last weights; the zoo keeps only the best."""
    best_index: int
    """Which seed had the best periodic test."""
    trained: dict[str, Any]
    """Where they were trained."""

    def weights(self, which: str) -> Model:
        """The best or the last weights."""
        if which == "best":
            return self.best
        if self.last is None:
            raise LantmError(f"{self.source} is a single machine, of which only the best weights are kept")
        return self.last

    def machine(self, seed: int | None, which: str = "best") -> tuple[int, Model]:
        """A seed and its best or last weights: the given seed, or the one with the best test."""
        index = self.best_index if seed is None else self.experiment.seed_index(seed)
        machine = jax.tree.map(lambda leaf: np.asarray(leaf)[index], self.weights(which))
        return int(self.seeds[index]), machine


def is_run(source: str) -> bool:
    """Whether this names a run folder."""
    return (pathlib.Path(source) / "experiment.json").is_file()


def open_machines(source: str) -> Trained:
    """The machines of a run folder, or else of a file or the zoo; warnings about damage go to standard error."""
    shipped = None
    if zoo.is_file(source):
        shipped = zoo.load_file(pathlib.Path(source))
    elif not is_run(source) and zoo.find(source) is not None:
        shipped = zoo.load(source)
    if shipped is not None:
        return Trained(
            source=source,
            experiment=shipped.experiment,
            task=shipped.task,
            epoch=shipped.epoch,
            seeds=shipped.seeds,
            best=shipped.models,
            last=None,
            best_index=0,
            trained=shipped.trained,
        )
    folder = RunFolder(pathlib.Path(source))
    try:
        folder = RunFolder.open(folder.path)
    except LantmError as error:
        known = ", ".join(zoo.names())
        raise LantmError(f"{error}; nor is it a machine of the zoo, which has {known}") from error
    experiment, task, epoch, learners, warnings = load_learners(folder)
    for warning in warnings:
        print(f"lantm: warning: {warning}", file=sys.stderr)
    return Trained(
        source=source,
        experiment=experiment,
        task=task,
        epoch=epoch,
        seeds=jnp.asarray(learners.seed),
        best=learners.best_model,
        last=learners.model,
        best_index=int(np.argmax(learners.best_score)),
        trained=folder.provenance(),
    )

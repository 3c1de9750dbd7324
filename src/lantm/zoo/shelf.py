"""Machines on a shelf: a folder of safetensors files, one a machine, by name.

A file's notes hold the experiment it was trained by, the seed, the epoch, its scores on fresh problems, and
where training and scores come from. It is read with the same checks as a checkpoint.
"""

import dataclasses
import pathlib
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from lantm.errors import LantmError
from lantm.machine import Model
from lantm.seeds import INITIALISE, seed_key
from lantm.tasks import Task
from lantm.training import Experiment, checkpoint

SHELF = pathlib.Path(__file__).parent / "machines"
_SUFFIX = ".safetensors"
# A task's name alone means the first of these that is there.
_PREFERRED = ("lantm-invnorm", "lantm-softmax", "lstm")


@dataclasses.dataclass(frozen=True)
class Shipped:
    """A trained machine of the zoo."""

    name: str
    experiment: Experiment
    """What it was trained by, as of its own seed alone."""
    task: Task
    model: Model
    notes: dict[str, Any]

    @property
    def models(self) -> Model:
        """The machine with a leading axis of one seed, as a run has of all its seeds."""
        return jax.tree.map(lambda weights: np.asarray(weights)[None], self.model)  # NumPy compiles nothing

    @property
    def seeds(self) -> Int[Array, " 1"]:
        """Its seed."""
        return jnp.asarray([self.experiment.first_seed], jnp.int32)

    @property
    def epoch(self) -> int:
        """The epoch of training its weights are of."""
        return int(self.notes.get("epoch", 0))

    @property
    def scores(self) -> list[dict[str, Any]]:
        """Its rows of scores on fresh problems."""
        return list(self.notes.get("scores", []))

    @property
    def trained(self) -> dict[str, Any]:
        """Where and with what it was trained."""
        return dict(self.notes.get("trained", {}))


def zoo_name(experiment: Experiment) -> str:
    """What a machine is called unless it is given another name: its task and its model."""
    return "".join(c if c.isalnum() else "-" for c in f"{experiment.task}-{experiment.model}").strip("-")


def names(shelf: pathlib.Path = SHELF) -> list[str]:
    """All machines, in the order of the alphabet."""
    return sorted(path.name.removesuffix(_SUFFIX) for path in shelf.glob(f"*{_SUFFIX}"))


def find(name: str, shelf: pathlib.Path = SHELF) -> str | None:
    """The full name of a machine that is there, from its full name or its task's name alone."""
    there = set(names(shelf))
    return next((full for full in (name, *(f"{name}-{model}" for model in _PREFERRED)) if full in there), None)


def load(name: str, shelf: pathlib.Path = SHELF) -> Shipped:
    """The machine of that name, or of that task."""
    full = find(name, shelf)
    if full is None:
        known = ", ".join(names(shelf)) or "none"
        raise LantmError(f"the zoo has no machine {name!r}: it has {known}; lantm zoo add RUN adds one")
    return load_file(shelf / f"{full}{_SUFFIX}")


def is_file(source: str) -> bool:
    """Whether this names a machine's file, wherever it lies."""
    return source.endswith(_SUFFIX) and pathlib.Path(source).is_file()


def load_file(path: pathlib.Path) -> Shipped:
    """The machine in a file of its own, as `lantm zoo add RUN --shelf FOLDER` makes them to be passed on."""
    notes = checkpoint.read_notes(path)
    if "experiment" not in notes:
        raise LantmError(f"{path} is no machine by itself: of a checkpoint, give the run folder it is in")
    experiment = Experiment.from_json(notes["experiment"])
    task = experiment.build_task()
    like = jax.eval_shape(lambda: experiment.machine.build(task.vocabulary, seed_key(0, INITIALISE)))
    model, notes = checkpoint.load(path, like)
    return Shipped(path.name.removesuffix(_SUFFIX), experiment, task, model, notes)


def save(
    experiment: Experiment,
    seed: int,
    model: Model,
    notes: dict[str, Any],
    name: str | None = None,
    shelf: pathlib.Path = SHELF,
) -> pathlib.Path:
    """Puts a machine on the shelf, in the place of one that has its name."""
    name = name or zoo_name(experiment)
    if not name or not all(c.isalnum() or c == "-" for c in name):
        raise LantmError(f"{name!r} cannot be the name of a machine: use letters, digits and hyphens")
    recipe = dataclasses.replace(experiment.recipe, starts=1)
    alone = dataclasses.replace(experiment, seeds=1, first_seed=seed, recipe=recipe)
    path = shelf / f"{name}{_SUFFIX}"
    checkpoint.save(path, model, {**notes, "experiment": alone.to_json()})
    return path

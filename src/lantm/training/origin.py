"""Checks that a checkpoint belongs to the experiment that resumes from it, and that its contents are usable.

A checkpoint stores the experiment and a description of its source, so that it is never resumed as a different one.
"""

import pathlib
import reprlib
from collections.abc import Mapping
from typing import Any

import jax
import numpy as np
from jaxtyping import Bool

from lantm.errors import LantmError
from lantm.machine import Model
from lantm.tasks import Source, Text
from lantm.training.experiment import Experiment, modules_in
from lantm.training.learner import Learner

_SHOWN = 3  # number of differences that an error message lists


def origin(experiment: Experiment, source: Source) -> dict[str, Any]:
    """The notes stored in a checkpoint that identify its experiment and source."""
    lengths = source.train_lengths
    learnt = {
        "name": source.name,
        "vocabulary": source.vocabulary,
        "lengths": [lengths.smallest, lengths.largest, lengths.stride],
    }
    if isinstance(source, Text):
        learnt["text"] = source.corpus.digest
    return {"experiment": experiment.published(), "source": learnt}


def check_origin(notes: Mapping[str, Any], experiment: Experiment, source: Source, folder: pathlib.Path) -> None:
    """Raises a `LantmError` that lists the differences if a checkpoint belongs to another experiment or source.

    Checkpoints of earlier versions have no such notes and are accepted.
    """
    if "experiment" not in notes:
        return
    now = origin(experiment, source)
    if others := sorted(modules_in(notes["experiment"]) - set(experiment.modules)):
        raise LantmError(
            f"{folder} has a checkpoint of another experiment: it names {others[0]!r}, and experiment.json does not; "
            "undo that, or train in another folder"
        )
    try:
        trained = Experiment.from_json(notes["experiment"], experiment.modules)
    except LantmError as error:
        raise LantmError(f"{folder} has a checkpoint of another experiment: {error}") from error
    stored = notes.get("source")
    if trained.recipe.epochs < experiment.recipe.epochs:  # a run may be extended
        trained = trained.with_epochs(experiment.recipe.epochs)
    found = _differences(trained.published(), now["experiment"], "")
    found += _differences(stored if isinstance(stored, dict) else {}, now["source"], "the source's ")
    if found:
        more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        raise LantmError(
            f"{folder} has a checkpoint of another experiment: {', '.join(found[:_SHOWN])}{more}; undo that, or train "
            "in another folder"
        )


def _differences(before: Mapping[str, Any], now: Mapping[str, Any], place: str) -> list[str]:
    """The differences of two records, each with its name and both values."""
    found = []
    for name in now:
        one, other = before.get(name), now[name]
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            found += _differences(one, other, f"{place}{name}.")
        elif one != other:
            found.append(f"{place}{name} was {reprlib.repr(one)} and is now {reprlib.repr(other)}")
    return found


def check_learners(learners: Learner, batches: int, where: object) -> None:
    """Raises a `LantmError` if learners read from a file are at an invalid batch number."""
    at = np.asarray(learners.batch)
    if not np.all((at >= 0) & (at < batches)) or np.any(at != at[0]):
        raise LantmError(f"{where} is damaged: it is at batch {at.tolist()} of {batches}; restore it from a copy")


def diverged_machines(learners: Learner) -> list[str]:
    """A warning if the weights of some machines are not finite, which makes them unusable."""
    spoilt = ~finite_weights(learners.best_model)
    if not spoilt.any():
        return []
    numbers = ", ".join(map(str, np.asarray(learners.seed)[spoilt].tolist()))
    return [f"the best weights of seed {numbers} are not finite: they are damaged, or training diverged from the start"]


def finite_weights(model: Model) -> Bool[np.ndarray, " machines"]:
    """Whether all weights are finite, for every machine along the leading axis."""
    leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(model)]
    return np.asarray(np.all([np.isfinite(leaf).reshape(len(leaf), -1).all(axis=1) for leaf in leaves], axis=0))

"""Saves the best seed of a run as a machine file: selected on one set of problems, scored on another."""

import contextlib
import pathlib
from typing import Any

import numpy as np

from lantm.errors import LantmError
from lantm.evaluation import best_seed, choosing, reporting
from lantm.provenance import provenance
from lantm.trained import zoo
from lantm.trained.loading import load_file
from lantm.trained.scored_at import lengths_or_parts
from lantm.trained.trained import Trained, usual_name
from lantm.training import score_rows
from lantm.weight_files import SUFFIX

CHOOSING_PROBLEMS = 3200


def promote(
    run: Trained,
    seed: int | None = None,
    name: str | None = None,
    scales: tuple[int, ...] = (),
    problems: int = 3200,
    shelf: pathlib.Path = zoo.SHELF,
    hard: bool = False,
) -> Trained:
    """Saves one machine of a run to a folder of machines: the given seed, or the one with the best mean score.

    The score is the recipe's `select_by`. The machine is selected and scored at the given multiples of the training
    lengths, by default the task's usual ones; with `hard`, on hard problems too.
    """
    name = name or usual_name(run.experiment)
    if not name or not all(c.isalnum() or c == "-" for c in name):
        raise LantmError(f"{name!r} cannot be the name of a machine: use letters, digits and hyphens")
    path, tests = shelf / f"{name}{SUFFIX}", lengths_or_parts(run.source, scales, hard=hard)
    with run.folder.locked(reads=True) if run.folder else contextlib.nullcontext():
        return _promoted(run, seed, tests, problems, path)


def _promoted(run: Trained, seed: int | None, tests: dict[str, Any], problems: int, path: pathlib.Path) -> Trained:
    if seed is None:
        examiner = run.examiner(run.source, tests)
        draw = choosing(min(CHOOSING_PROBLEMS, problems))
        found = examiner(run.best_weights, run.start_seeds, draw)
        chosen = [found["validation"]] if "validation" in found else list(found.values())
        seed = run.seeds[best_seed(chosen, run.experiment.recipe.select_by)]
    alone = run.seed(seed)
    scores = alone.examiner(run.source, tests)(alone.best_weights, np.asarray(alone.start_seeds), reporting(problems))
    alone.save(path, scores=score_rows(alone.experiment, scores), scored=provenance())
    return load_file(path, trust=run.experiment.modules)

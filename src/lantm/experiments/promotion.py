"""From a run to the zoo: the best seed is chosen on some problems, scored on others, and saved with its origin."""

import pathlib
from typing import Any

import jax
import numpy as np

from lantm import zoo
from lantm.experiments.scoring import CHOOSING, CHOOSING_PROBLEMS, REPORTING, Scorer
from lantm.provenance import provenance
from lantm.report import score_row
from lantm.training import RunFolder, load_learners


def promote(
    run: RunFolder,
    seed: int | None = None,
    name: str | None = None,
    scales: tuple[int, ...] = (),
    problems: int = 3200,
    shelf: pathlib.Path = zoo.SHELF,
) -> zoo.Shipped:
    """Puts a machine of a run into the zoo: the given seed's, or the one with the best mean score.

    Which score that is, the recipe says (`select_by`). It is chosen and scored at the given multiples of the training
    lengths, or at the task's usual ones.
    """
    experiment, task, _, learners, _ = load_learners(run)
    labels = {f"{scale}x": task.lengths_at(scale) for scale in scales or task.usual_scales}
    if seed is None:
        choosing = Scorer(task, labels, experiment.seeds)(
            learners.best_model, learners.seed, min(CHOOSING_PROBLEMS, problems), CHOOSING
        )
        merit = np.mean([scores.merit(experiment.recipe.select_by) for scores in choosing.values()], axis=0)
        index = int(np.argmax(merit))
    else:
        index = experiment.seed_index(seed)
    model, alone = (jax.tree.map(lambda leaf: leaf[index], part) for part in (learners.best_model, learners.seed))
    models = jax.tree.map(lambda leaf: leaf[None], model)
    scores = Scorer(task, labels, 1)(models, alone[None], problems, REPORTING)
    notes: dict[str, Any] = {
        "seed": int(alone),
        "epoch": int(learners.best_epoch[index]),
        "scores": [score_row(experiment, label, one) | {"best_seed": int(alone)} for label, one in scores.items()],
        "trained": run.provenance(),
        "scored": provenance(),
    }
    name = name or zoo.zoo_name(experiment)
    zoo.save(experiment, int(alone), model, notes, name, shelf)
    return zoo.load(name, shelf)

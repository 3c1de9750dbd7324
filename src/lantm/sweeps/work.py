"""One group's work, the same on every engine: train, going on from what is there, score, and leave records."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from lantm.evaluation import Scores
from lantm.experiments.scoring import REPORTING, Scorer
from lantm.provenance import provenance
from lantm.report import score_row
from lantm.sweeps.folder import SweepFolder
from lantm.sweeps.packing import Group
from lantm.training import Progress, Result, train
from lantm.training.seconds import add_seconds, seconds_spent


def work(
    group: Group,
    folder: SweepFolder,
    watch: Callable[[int], None],
    stop: Callable[[], bool],
    warn: Callable[[str], None],
) -> bool:
    """Does a group to its end, or until `stop` says so; `watch` is told every epoch. Whether it came to its end."""
    if stop():
        return False
    with folder.locked(group.name):
        folder.note_failure(group, None)
        run, begun = folder.run_folder(group)

        def tell(progress: Progress) -> None:
            watch(progress.epoch)

        result = train(group.experiment, run, begun, tell, stop, warn)
        add_seconds(run.path, result.seconds)
        if not result.complete:
            return False
        for record in _records(group, result, seconds_spent(run.path)):
            folder.write_record(record)
    return True


def _records(group: Group, result: Result, seconds: float) -> list[dict[str, Any]]:
    """A record a point. All but `made`, which says where and when, follows from the point alone."""
    task, scoring, learners = group.experiment.build_task(), group.scoring, result.learners
    lengths = {f"{scale}x": task.lengths_at(scale) for scale in scoring.scales}
    scorer = Scorer(task, lengths, group.experiment.seeds)
    scores = scorer(learners.best_model, learners.seed, scoring.problems, REPORTING)
    skipped = np.asarray(learners.optimiser.total_notfinite)
    diverged = np.asarray(learners.optimiser.notfinite_count) >= group.experiment.recipe.patience
    made = {"group": group.name, "machines": len(group.points), "seconds": seconds, **provenance()}
    return [
        {
            "point": point.name,
            "experiment": point.experiment.to_json(),
            "rows": [score_row(point.experiment, label, _only(score, at)) for label, score in scores.items()],
            "best_epoch": int(learners.best_epoch[at]),
            "skipped": int(skipped[at]),
            "diverged": bool(diverged[at]),
            "made": made,
        }
        for at, point in enumerate(group.points)
    ]


def _only(scores: Scores, at: int) -> Scores:
    """The scores of one machine."""
    fields = {name: getattr(scores, name)[at : at + 1] for name in ("coarse", "fine", "first_error")}
    return dataclasses.replace(scores, **fields)

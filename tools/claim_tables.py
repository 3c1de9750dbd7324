"""The table of the paper's claims about its tweaks: seeds with a tweak against seeds without it, with 95% intervals."""

import math
import pathlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from study_tables import Results

from lantm.evaluation.interval import wilson
from lantm.grids.studies.sequences import TASKS

CLAIMS = {
    "mixing actions helps": "no-interpolation",
    "mixing actions of the read head helps (the paper suspects that it does not)": "no-read-interpolation",
    "the bias of the write gates helps": "no-gate-bias",
    "steps of length 1 help": "no-normalisation",
}
"""What a tweak is said to do, and the variation of the study `tweaks` that is without it."""
AS_IT_IS = "as-it-is"
ENOUGH = 32
"""Seeds with and without a tweak, below which no verdict is given."""
RESAMPLED = 4000


class Seeds(NamedTuple):
    """The epoch in which each seed of a task solved it, infinite for those that never did, with and without a tweak."""

    task: str
    ours: Sequence[float]
    theirs: Sequence[float]


def claims(root: pathlib.Path) -> str:
    """Every claim: on each task, and on all tasks for which both were run."""
    results = Results(root, "tweaks")
    cells = results.cells("paper")
    found = {(task, variation): _epochs(result) for (task, _, variation), result in cells.items()}
    rows = []
    for claim, without in CLAIMS.items():
        tasks = [
            Seeds(task, found[task, AS_IT_IS], found[task, without])
            for task in TASKS
            if (task, AS_IT_IS) in found and (task, without) in found
        ]
        rows += [_row(claim, one.task, [one]) for one in tasks]
        if len(tasks) > 1:
            rows.append(_row(claim, f"all {len(tasks)}", tasks))
    head = ["claim", "task", "seeds that solve 1x: with", "without", "difference in percent", "median epoch: with"]
    return results.table([*head, "without", "sooner with it, in percent", "shown"], rows)


def difference(ours: int, of_ours: int, theirs: int, of_theirs: int) -> tuple[float, float]:
    """The interval of the difference of two fractions, from Wilson's intervals of each (Newcombe, 1998, method 10).

    >>> low, high = difference(56, 70, 48, 80)
    >>> round(low, 4), round(high, 4)
    (0.0524, 0.3339)
    """
    one, other = ours / of_ours, theirs / of_theirs
    (low, high), (least, most) = wilson(ours, of_ours), wilson(theirs, of_theirs)
    return (
        one - other - math.hypot(one - low, most - other),
        one - other + math.hypot(high - one, other - least),
    )


def sooner(tasks: Sequence[Seeds]) -> tuple[float, float, float]:
    """How likely a seed with the tweak solves its task before one without it, and the interval, by resampling seeds.

    Ties, such as two that never do, count half. Several tasks count alike.

    >>> sooner([Seeds("copy", [100, 200, math.inf], [300, math.inf, math.inf])])[0].round(3)
    np.float64(0.778)
    """
    random = np.random.default_rng(0)
    share, resampled = np.float64(0), np.zeros(RESAMPLED)
    for one in tasks:
        ours, theirs = np.asarray(one.ours), np.asarray(one.theirs)
        # Of every seed with the tweak and every seed without it, which one was first.
        first = np.where(ours[:, None] == theirs, 0.5, ours[:, None] < theirs)
        share += first.mean() / len(tasks)
        picked = (random.integers(len(each), size=(RESAMPLED, len(each))) for each in (ours, theirs))
        of_ours, of_theirs = (np.stack([np.bincount(row, minlength=row.size) for row in rows]) for rows in picked)
        resampled += np.einsum("ri,ij,rj->r", of_ours, first, of_theirs) / first.size / len(tasks)
    low, high = np.quantile(resampled, [0.025, 0.975])
    return share, low, high


def _epochs(result: dict[str, Any]) -> list[float]:
    """When each seed first solved 1x in a test of its training."""
    row = next(row for row in result["rows"] if row["scale"] == "1x")
    return [math.inf if epoch is None else epoch for epoch in row["epochs_until_solved_by_seed"]]


def _row(claim: str, task: str, tasks: Sequence[Seeds]) -> list[str]:
    ours = [epoch for one in tasks for epoch in one.ours]
    theirs = [epoch for one in tasks for epoch in one.theirs]
    solved = [sum(map(math.isfinite, seeds)) for seeds in (ours, theirs)]
    low, high = difference(solved[0], len(ours), solved[1], len(theirs))
    share, least, most = sooner(tasks)
    return [
        claim,
        task,
        *(f"{some} of {len(seeds)}" for some, seeds in zip(solved, (ours, theirs), strict=True)),
        f"{100 * (solved[0] / len(ours) - solved[1] / len(theirs)):+.0f} ({100 * low:+.0f} to {100 * high:+.0f})",
        *(_median(seeds) for seeds in (ours, theirs)),
        f"{100 * share:.0f} ({100 * least:.0f} to {100 * most:.0f})",
        _shown(tasks, least, most),
    ]


def _median(epochs: Sequence[float]) -> str:
    """The median of those that solve the task."""
    solved = [epoch for epoch in epochs if math.isfinite(epoch)]
    return f"{np.median(solved):g}" if solved else "never"


def _shown(tasks: Sequence[Seeds], least: float, most: float) -> str:
    """The verdict: whether the interval leaves out that neither is sooner."""
    if min(len(seeds) for one in tasks for seeds in (one.ours, one.theirs)) < ENOUGH:
        return "too few seeds"
    even, rounding = 0.5, 1e-9
    return "yes" if least > even + rounding else "the opposite" if most < even - rounding else "no"

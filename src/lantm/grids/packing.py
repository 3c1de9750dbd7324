"""Packing: points of a sweep that differ only in seed or learning rate are trained as one compiled program."""

import contextlib
import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from lantm.errors import LantmError
from lantm.grids.folder import GridFolder, Record
from lantm.grids.job import Job
from lantm.grids.point import Point, Scoring, digest, slug
from lantm.provenance import provenance
from lantm.records import json_object, make_record
from lantm.registry import Trust
from lantm.trained import Trained
from lantm.training import Experiment, Member, RunFolder, score_row
from lantm.training.rows import read_rows


@dataclasses.dataclass(frozen=True)
class PointRecord:
    """The required fields of a point's record besides its rows; it has further ones."""

    point: str
    best_epoch: int
    skipped: int
    diverged: bool


@dataclasses.dataclass(frozen=True)
class Group(Job):
    """Points of a sweep that are trained in parallel."""

    experiment: Experiment
    scoring: Scoring

    @property
    def points(self) -> list[Point]:
        """The points, in the order of the machines."""
        return [Point(one, self.scoring) for one in _singles(self.experiment)]

    @property
    def run_name(self) -> str:
        """The name of its run folder, which does not depend on the scoring."""
        trained = " ".join(Point(one, Scoring()).name for one in _singles(self.experiment))
        return f"{slug(self.experiment)}-{digest(trained)}"

    def records(self, trained: Trained, start_merits: list[list[float | None]]) -> dict[str, Record]:
        """One record per point. Everything except `made`, the provenance, depends on the point alone."""
        assert trained.history is not None
        assert trained.folder is not None
        text, scoring = self.experiment.reads_text, self.scoring
        scores = trained.scores(
            () if text else scoring.scales, problems=scoring.problems, hard=scoring.hard and not text
        )
        points, skipped = self.points, trained.history.skipped[-1]
        made = {
            "group": self.run_name,
            "machines": len(points),
            "seconds": trained.folder.seconds,
            **provenance(),
        }
        return {
            point.name: {
                "point": point.name,
                "experiment": point.experiment.published(),
                "rows": [
                    score_row(point.experiment, label, score.among(np.array([at])), 0)
                    for label, score in scores.items()
                ],
                "best_epoch": int(trained.best_epochs[at]),
                "skipped": int(skipped[at]),
                "diverged": bool(trained.history.diverged[at]),
                "made": made,
            }
            for at, point in enumerate(points)
        }

    def to_json(self) -> dict[str, Any]:
        return {"experiment": self.experiment.to_json(), "scoring": dataclasses.asdict(self.scoring)}

    @classmethod
    def from_json(cls, values: Any) -> "Group":
        """The group from JSON of the same sweep; trust was checked by the process that sent it."""
        values = json_object(values, cls, "group")
        scoring = make_record(Scoring, values.get("scoring"), "scoring")
        return cls(Experiment.from_json(values.get("experiment"), trust=True), scoring)


def point_record(folder: GridFolder, point: Point) -> Record | None:
    """The record of a point; None if there is no usable one."""
    try:
        record = folder.record(point.name)
        if record is None or make_record(PointRecord, record, point.name, others=True).point != point.name:
            return None
        read_rows(record.get("rows"), point.name)
    except LantmError:
        return None
    return record


def missing(folder: GridFolder, points: Sequence[Point], largest: int) -> list[Group]:
    """The groups that are not done: existing run folders continue, and the other points are packed."""
    left = dict.fromkeys(point for point in points if point_record(folder, point) is None)
    groups = []
    modules = tuple({name for point in left for name in point.experiment.modules})
    for scoring in dict.fromkeys(point.scoring for point in left):
        for begun in _begun(folder, scoring, modules):
            if any(point in left for point in begun.points):
                groups.append(begun)
                for point in begun.points:
                    left.pop(point, None)
    return groups + pack(list(left), largest)


def _begun(folder: GridFolder, scoring: Scoring, trust: Trust) -> Iterator[Group]:
    for path in sorted(folder.runs.glob("*/experiment.json")):
        with contextlib.suppress(LantmError):
            group = Group(RunFolder(path.parent, trust).experiment(), scoring)
            if group.run_name == path.parent.name:
                yield group


def pack(points: Sequence[Point], largest: int) -> list[Group]:
    """Groups of at most `largest` points each, of approximately equal sizes."""
    alike: dict[tuple[Experiment, Scoring], list[Point]] = {}
    for point in points:
        experiment = point.experiment
        recipe = dataclasses.replace(experiment.recipe, learning_rate=1.0)
        common = dataclasses.replace(experiment, first_seed=0, recipe=recipe)
        alike.setdefault((common, point.scoring), []).append(point)
    groups = []
    for together in alike.values():
        count = -(-len(together) // largest)
        for at in range(count):
            groups.append(_join(together[at * len(together) // count : (at + 1) * len(together) // count]))
    return groups


def _join(points: Sequence[Point]) -> Group:
    first, scoring = points[0].experiment, points[0].scoring
    members = tuple(Member(point.seed, point.experiment.recipe.learning_rate) for point in points)
    in_order = all(
        member == Member(first.first_seed + at, first.recipe.learning_rate) for at, member in enumerate(members)
    )
    if in_order:  # the same as a `lantm train` run
        return Group(dataclasses.replace(first, seeds=len(points)), scoring)
    return Group(dataclasses.replace(first, first_seed=0, seeds=len(points), members=members), scoring)


def _singles(experiment: Experiment) -> list[Experiment]:
    """The experiment split into experiments of one seed each."""
    rate = experiment.recipe.learning_rate
    members = experiment.members or tuple(Member(seed, rate) for seed in experiment.seed_numbers)
    return [
        dataclasses.replace(
            experiment,
            seeds=1,
            first_seed=member.seed,
            members=(),
            recipe=dataclasses.replace(experiment.recipe, learning_rate=member.learning_rate),
        )
        for member in members
    ]

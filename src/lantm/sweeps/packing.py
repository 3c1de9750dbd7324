"""Packing: points that differ only in seed or learning rate become one experiment, and so one compiled program."""

import dataclasses
from collections.abc import Sequence
from typing import Any

from lantm.sweeps.point import Point, Scoring, digest, slug
from lantm.training import Experiment, Member
from lantm.training.records import json_object, make_record


@dataclasses.dataclass(frozen=True)
class Group:
    """Points that are trained side by side."""

    experiment: Experiment
    scoring: Scoring

    @property
    def points(self) -> list[Point]:
        """Its points, in the order of the machines."""
        return [Point(one, self.scoring) for one in _singles(self.experiment)]

    @property
    def name(self) -> str:
        """What its run folder is called: trainings that are scored in several ways share it."""
        trained = " ".join(Point(one, Scoring()).name for one in _singles(self.experiment))
        return f"{slug(self.experiment)}-{digest(trained)}"

    @property
    def problems(self) -> int:
        """How many problems its machines are trained on, all together."""
        recipe = self.experiment.recipe
        return recipe.epochs * recipe.batches * recipe.batch_size * self.experiment.machines

    def to_json(self) -> dict[str, Any]:
        """The group as plain JSON values, to be sent to another machine."""
        return {"experiment": self.experiment.to_json(), "scoring": dataclasses.asdict(self.scoring)}

    @classmethod
    def from_json(cls, values: Any) -> "Group":
        """The group back from JSON."""
        values = json_object(values, cls, "group")
        scoring = make_record(Scoring, values.get("scoring"), "scoring")
        return cls(Experiment.from_json(values.get("experiment")), scoring)


def pack(points: Sequence[Point], largest: int) -> list[Group]:
    """Groups of at most `largest` points each, of about the same size where several share a program."""
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
    if in_order:  # as `lantm train` would train them
        return Group(dataclasses.replace(first, seeds=len(points)), scoring)
    return Group(dataclasses.replace(first, first_seed=0, seeds=len(points), members=members), scoring)


def _singles(experiment: Experiment) -> list[Experiment]:
    """The experiments of one seed each that an experiment is made of."""
    rate = experiment.recipe.learning_rate
    seeds = range(experiment.first_seed, experiment.first_seed + experiment.seeds)
    members = experiment.members or tuple(Member(seed, rate) for seed in seeds)
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

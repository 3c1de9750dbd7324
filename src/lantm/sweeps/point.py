"""A point of a sweep: one experiment with one seed, by a name that says which."""

import dataclasses
import hashlib
import json
from typing import Any

from lantm.training import Experiment


@dataclasses.dataclass(frozen=True)
class Scoring:
    """How trained machines are scored."""

    scales: tuple[int, ...] = (1, 2)
    """Multiples of the training lengths."""
    problems: int = 3200
    """Fresh problems at each."""


@dataclasses.dataclass(frozen=True)
class Point:
    """One machine to train and score."""

    experiment: Experiment
    """Of one seed."""
    scoring: Scoring

    @property
    def seed(self) -> int:
        """Its seed."""
        return self.experiment.first_seed

    @property
    def name(self) -> str:
        """What its record is called: the same for the same settings, whatever sweep they stand in."""
        said = {"experiment": _said(self.experiment), "scoring": _said(self.scoring)}
        return f"{slug(self.experiment)}-s{self.seed}-{digest(json.dumps(said, sort_keys=True))}"


def slug(experiment: Experiment) -> str:
    """Task and model as a part of file names."""
    return "".join(c if c.isascii() and c.isalnum() else "-" for c in f"{experiment.task[:40]}-{experiment.model}")


def digest(text: str) -> str:
    """A short name for a long text."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _said(record: Any) -> dict[str, Any]:
    """The fields that differ from their defaults, so that a setting of a later version renames no old record."""
    said = {}
    for field in dataclasses.fields(record):
        value = getattr(record, field.name)
        if dataclasses.is_dataclass(value):
            said[field.name] = _said(value)
        elif value != field.default and field.name != "recorded_seeds":  # what is recorded changes no figure
            said[field.name] = value
    return said

"""`Point`: one entry of a sweep (an experiment with one seed), and its name."""

import dataclasses
import hashlib
import json
from typing import Any

from lantm.files import file_name
from lantm.training import Experiment

# Recordings and the folder of a text do not change the figures.
_NO_DIFFERENCE = ("recorded_seeds", "folder")


@dataclasses.dataclass(frozen=True)
class Scoring:
    """How trained machines are scored."""

    scales: tuple[int, ...] = (1, 2)
    """Multiples of the training lengths."""
    problems: int = 3200
    """Fresh problems at each."""
    hard: bool = False
    """Whether hard problems are scored too."""


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
        """The name of its record: the same for the same settings in any sweep."""
        settings = {"experiment": _changed(self.experiment), "scoring": _changed(self.scoring)}
        return f"{slug(self.experiment)}-s{self.seed}-{digest(json.dumps(settings, sort_keys=True))}"


def slug(experiment: Experiment) -> str:
    """Task and model as a part of file names."""
    return file_name(f"{experiment.task[:40]}-{experiment.model}")


def digest(text: str) -> str:
    """A short digest of a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _changed(record: Any) -> dict[str, Any]:
    """The fields that differ from their defaults, so that a new setting does not rename old records."""
    changed = {}
    for field in dataclasses.fields(record):
        value = getattr(record, field.name)
        if dataclasses.is_dataclass(value):
            changed[field.name] = _changed(value)
        elif value != field.default and field.name not in _NO_DIFFERENCE:
            changed[field.name] = value
    return changed

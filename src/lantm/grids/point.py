"""`Point`: one entry of a sweep (an experiment with one seed), and its name."""

import dataclasses
import hashlib
import json
from typing import Any

from lantm.files import file_name
from lantm.training import Experiment

# Recordings and the folder of a text do not affect the scores.
_NO_DIFFERENCE = ("recorded_seeds", "folder")


@dataclasses.dataclass(frozen=True)
class Scoring:
    """The tests of trained machines."""

    scales: tuple[int, ...] = (1, 2)
    """Scales, as multiples of the training lengths."""
    problems: int = 3200
    """Fresh problems per score."""
    hard: bool = False
    """Whether to score on hard problems too."""


@dataclasses.dataclass(frozen=True)
class Point:
    """One machine to train and score."""

    experiment: Experiment
    """The experiment, with one seed."""
    scoring: Scoring

    @property
    def seed(self) -> int:
        """The seed."""
        return self.experiment.first_seed

    @property
    def name(self) -> str:
        """The name of the record; equal settings have the same name in any sweep."""
        settings = {"experiment": _changed(self.experiment), "scoring": _changed(self.scoring)}
        return f"{slug(self.experiment)}-s{self.seed}-{digest(json.dumps(settings, sort_keys=True))}"


def slug(experiment: Experiment) -> str:
    """Task and model as a part of file names."""
    return file_name(f"{experiment.task[:40]}-{experiment.model}")


def digest(text: str) -> str:
    """A short hash of a text."""
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

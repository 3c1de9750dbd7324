"""`Sweep`: reads and checks a sweep file (TOML or JSON), a grid over the fields of an experiment.

    seeds = 8                     # 0 to 7, or a list of seeds
    scales = [1, 2, 4]            # scored at these multiples of the training lengths
    hard = true                   # also on hard problems
    problems = 3200               # on this many fresh problems per score
    pack = 32                     # at most this many machines per program

    [experiment]                  # settings of all points: flags of `lantm train`
    recipe = "robust"
    epochs = 500

    [grid]                        # lists of choices: every combination is a point, for every seed
    task = ["copy", "reverse"]
    geometry = ["translation", "disk"]
    learning_rate = [0.005, 0.01, 0.02]

Several grids, as `[[grid]]`, are combined; each may have its own `seeds`.
"""

import dataclasses
import functools
import itertools
import json
import math
import pathlib
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lantm.errors import LantmError, first_line
from lantm.evaluation.examiner import check_problems
from lantm.files import check_file
from lantm.grids.point import Point, Scoring
from lantm.machine import Config
from lantm.paper import account, make_experiment
from lantm.randomness import SEEDS
from lantm.records import make_record
from lantm.registry import Trust, check_trust
from lantm.tasks import Source, Task
from lantm.training import Experiment

MOST_POINTS = 100_000
_POINT = {"seeds": 1, "first_seed": 0, "recorded_seeds": 0}  # a point has one seed and is not recorded
LARGEST_FILE = 1_000_000  # bytes


@dataclasses.dataclass(frozen=True)
class Sweep:
    """The contents of a sweep file."""

    experiment: dict[str, Any] = dataclasses.field(default_factory=dict)
    """Settings of all points, by the names of `lantm train`'s flags."""
    grid: tuple[dict[str, Any], ...] = ()
    """Lists of choices by the same names; every combination is a point."""
    seeds: int | tuple[int, ...] = 8
    """The number of seeds, counted from 0, or a list of seeds."""
    scales: tuple[int, ...] = (1, 2)
    """Scales to score at, as multiples of the training lengths."""
    hard: bool = False
    """Score on hard problems too."""
    problems: int = 3200
    """Fresh problems per score."""
    pack: int = 32
    """The maximum number of machines per program."""

    def __post_init__(self) -> None:
        check_problems(self.problems)
        if not 1 <= self.pack < 2**31:
            raise LantmError(f"pack is {self.pack}: give a whole number of at least 1")
        if not self.scales or len(set(self.scales)) < len(self.scales):
            raise LantmError(
                f"scales are {list(self.scales)}: give whole numbers of at least 1, each once, at least one"
            )

    @classmethod
    def from_json(cls, values: Any, trust: Trust = False) -> "Sweep":
        """A sweep from the contents of its file; raises a `LantmError` that names the invalid field.

        A name of the form `module:Name` is refused unless it is trusted.
        """
        if isinstance(values, dict) and isinstance(values.get("grid"), dict):
            values = {**values, "grid": [values["grid"]]}
        sweep = make_record(cls, values, "the sweep")
        for settings in (sweep.experiment, *sweep.grid):
            for name in ("task", "geometry", "weighting"):
                given = settings.get(name)
                check_trust(given if isinstance(given, list | tuple) else [given], trust, "the sweep")
        return sweep

    def to_json(self) -> dict[str, Any]:
        """The contents as JSON values."""
        return dataclasses.asdict(self)

    @property
    def varied(self) -> list[str]:
        """The fields that occur in a grid, in order."""
        return [name for name in dict.fromkeys(itertools.chain(*self.grid)) if name != "seeds"]

    def points(self) -> list[Point]:
        """Every point once; errors name the combination in which they occur."""
        grids = [_choices(grid) for grid in self.grid or ({},)]
        seeds = [_seeds(grid.get("seeds", self.seeds)) for grid in self.grid or ({},)]
        total = sum(math.prod(map(len, grid.values())) * len(chosen) for grid, chosen in zip(grids, seeds, strict=True))
        if total > MOST_POINTS:
            raise LantmError(f"the sweep has {total:,} points: give at most {MOST_POINTS:,}")
        found: dict[Point, None] = {}
        scoring = Scoring(self.scales, self.problems, self.hard)
        for grid, chosen in zip(grids, seeds, strict=True):
            for experiment in self._combinations(grid):
                found.update(
                    (Point(dataclasses.replace(experiment, first_seed=seed), scoring), None) for seed in chosen
                )
        return list(found)

    def _combinations(self, grid: Mapping[str, Sequence[Any]]) -> Iterator[Experiment]:
        """An experiment with one seed for every combination of choices."""
        for combination in itertools.product(*grid.values()):
            choice = dict(zip(grid, combination, strict=True))
            try:
                experiment = _experiment({**self.experiment, **choice})
                _check(experiment, self.scales)
            except LantmError as error:
                place = ", ".join(f"{name} = {_short(value)}" for name, value in choice.items())
                raise LantmError(f"{error} (at {place})" if place else str(error)) from error
            yield experiment


def read_sweep(path: pathlib.Path, trust: Trust = False) -> Sweep:
    """Reads a TOML or JSON file, by its suffix."""
    if path.suffix not in (".toml", ".json"):
        raise LantmError(f"{path} is not a sweep file: its name has to end in .toml or .json")
    try:
        check_file(path, LARGEST_FILE)
        text = path.read_text(encoding="utf-8")
        # TOML's dates, which JSON does not have, become texts, which their settings refuse.
        toml = path.suffix == ".toml"
        values = json.loads(json.dumps(tomllib.loads(text), default=str) if toml else text)
    except FileNotFoundError as error:
        raise LantmError(f"there is no file {path}: lantm sweep --help shows an example file") from error
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise LantmError(f"{path} cannot be read: {error}") from error
    return Sweep.from_json(values, trust)


def _choices(grid: Mapping[str, Any]) -> dict[str, Sequence[Any]]:
    choices = {name: value for name, value in grid.items() if name != "seeds"}
    for name, value in choices.items():
        if not isinstance(value, list | tuple) or not value:
            raise LantmError(f"grid.{name} is {_short(value)}: give a list of choices, at least one")
    return choices


def _seeds(value: Any) -> Sequence[int]:
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MOST_POINTS:
        return range(value)
    if isinstance(value, list | tuple) and value and all(_is_seed(seed) for seed in value):
        return list(dict.fromkeys(value))
    raise LantmError(f"seeds is {_short(value)}: give a number (1 to {MOST_POINTS:,}), or a list of whole numbers")


def _is_seed(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < SEEDS


def _experiment(settings: Mapping[str, Any]) -> Experiment:
    """The experiment of a combination, with its first seed."""
    for name in _POINT:
        if name in settings:
            raise LantmError(
                f"a sweep has no setting {name!r}: points have one seed, from the sweep's own seeds, and are not "
                "recorded"
            )
    return make_experiment({**settings, **_POINT})


def _check(experiment: Experiment, scales: Sequence[int]) -> None:
    """Raises a `LantmError` if an experiment cannot be trained or scored."""
    source = _source(dataclasses.replace(experiment, first_seed=0))
    if isinstance(source, Task):
        for scale in {*scales, *experiment.recipe.test_scales, *experiment.recipe.test_hard_scales}:
            source.check_length(source.lengths_at(scale).largest)
    _check_machine(experiment.machine, source.vocabulary)


@functools.cache
def _source(experiment: Experiment) -> Source:
    """The source of an experiment; cached, so that a text is read only once."""
    return experiment.source()


@functools.cache
def _check_machine(machine: Config, vocabulary: int) -> None:
    try:
        account(machine, vocabulary)
    except (ValueError, TypeError, ArithmeticError) as error:
        raise LantmError(f"the machine cannot be built: {first_line(error)}") from error


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."

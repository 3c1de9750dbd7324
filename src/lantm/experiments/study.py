"""A study: a table of the paper, cell by cell, each trained, scored, and put beside the paper's figures.

A study of one's own is a `Study` in `STUDIES` (`lantm.experiments.studies`); its cells are `TrainedCell`s where an
`Experiment` says all, and otherwise a class of their own that keeps the contract of `Cell`.
"""

import abc
import dataclasses
import math
import pathlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from rich.console import RenderableType

from lantm.errors import LantmError
from lantm.experiments.paper import Figures
from lantm.report import comparison_table
from lantm.training import Experiment, Progress

Row = dict[str, Any]
"""One line of a table, in the one shape that all commands print (`lantm.report.score_row`)."""


@dataclasses.dataclass(frozen=True)
class Request:
    """What is asked of a study."""

    recipe: str = "paper"
    only: tuple[str, ...] = ()
    """Tasks, and whatever else the cells are labelled with; all unless given."""
    models: tuple[str, ...] = ()
    """Models; all unless given."""
    seeds: int | None = None
    """How many seeds instead of the study's."""
    epochs: int | None = None
    """How many epochs instead of the recipe's."""
    scales: tuple[int, ...] = ()
    """Multiples of the training lengths instead of the study's."""
    problems: int = 3200
    """Fresh problems for each figure."""
    data: pathlib.Path | None = None
    """The folder of a text, where a study needs one."""
    bare: bool = False
    """Nothing but figures: no recordings, no report page."""
    quick: bool = False
    """A small version of everything, for a laptop: to see it work, not to compare with the paper."""


@dataclasses.dataclass(frozen=True)
class Conduct:
    """How long work is watched and stopped."""

    say: Callable[[str], None]
    """Takes a line for the person who waits."""
    stop: Callable[[], bool]
    """Asked between epochs: whether to save and end."""
    watch: Callable[[Experiment], AbstractContextManager[Callable[[Progress], None]]]
    """Shows the training of an experiment, epoch by epoch."""


class Cell(abc.ABC):
    """One training and the figures that come of it."""

    @property
    @abc.abstractmethod
    def name(self) -> str:
        """What its result is called, within its study."""

    @property
    @abc.abstractmethod
    def run_name(self) -> str:
        """What its run folder is called. Cells of different studies that share a training share it."""

    @property
    @abc.abstractmethod
    def labels(self) -> Mapping[str, str]:
        """What it is chosen by: its task, its model, and whatever else tells it from others."""

    @abc.abstractmethod
    def check(self) -> None:
        """Raises a `LantmError` for what cannot be trained or scored, before anything is done."""

    @abc.abstractmethod
    def matches(self, result: Mapping[str, Any]) -> bool:
        """Whether a stored result is of this very cell, so that nothing need be trained."""

    @abc.abstractmethod
    def train(self, folder: pathlib.Path, conduct: Conduct) -> bool:
        """Trains in a run folder, going on from what is there; false when stopped before the end."""

    @abc.abstractmethod
    def score(self, folder: pathlib.Path) -> dict[str, Any]:
        """The result of a complete run: its `rows`, configuration and tests, and where it was `trained`."""

    @abc.abstractmethod
    def score_shipped(self) -> dict[str, Any] | None:
        """The same of the zoo's machine, without a training; nothing when the zoo has none."""


@dataclasses.dataclass(frozen=True)
class Study:
    """A table of the paper."""

    name: str
    summary: str
    """One line for the help."""
    cells: Callable[[Request], Sequence[Cell]]
    """All cells, for the recipe, seeds, epochs, scales and problems that were asked for."""
    columns: tuple[str, ...] = ()
    """What its printed table shows of a row besides task, model, scale and scores."""
    table: Callable[[Sequence[Row], str, Sequence[str]], RenderableType] = comparison_table
    """Makes its printed table, from rows, a title and these columns."""

    def selected(self, request: Request) -> list[Cell]:
        """The cells that were asked for; a name that chooses none is a `LantmError`.

        Names of one kind of label are alternatives; where there are names of several kinds, as of a task and of a
        variation, all of them have to fit.
        """
        cells = list(self.cells(request))
        known: dict[str, dict[str, None]] = {}  # the labels of each kind, in the order of the cells
        for cell in cells:
            for kind, label in cell.labels.items():
                known.setdefault(kind, {})[label] = None
        asked = {"model": set(request.models)}
        _check_names("models", request.models, list(known.get("model", {})), self.name)
        others = [kind for kind in known if kind != "model"]
        _check_names("only", request.only, [label for kind in others for label in known[kind]], self.name)
        asked |= {kind: set(request.only) & set(known[kind]) for kind in others}
        return [
            cell for cell in cells if all(not names or cell.labels.get(kind) in names for kind, names in asked.items())
        ]


def _check_names(flag: str, asked: Sequence[str], known: Sequence[str], study: str) -> None:
    for name in asked:
        if name not in known:
            raise LantmError(f"--{flag} {name} chooses nothing of {study}: known are {', '.join(known)}")


def beside_the_paper(row: Row, figures: Figures | None, quick: bool) -> Row:
    """A row with the paper's figures, and whether ours are at least as good.

    They are compared in whole percent, to which the paper rounds its own. A quick version is not compared.
    """
    row = {**row, "paper": None if figures is None else figures._asdict(), "pass": None}
    if quick:
        row["quick"] = True
    elif figures is not None:
        row["pass"] = whole(row["coarse"]) >= figures.coarse and whole(row["fine"]) >= figures.fine
    return row


def whole(percent: float) -> int:
    """The nearest whole percent; of two that are equally near the larger.

    >>> whole(99.5), whole(99.49)
    (100, 99)
    """
    return math.floor(percent + 0.5)

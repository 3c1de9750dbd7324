"""A study: a grid with a paper's figures beside it; each cell is trained, scored and compared.

A study of one's own is a `Study` in `STUDIES` (`lantm.grids.studies`), a function from a `Request` to its cells.
"""

import dataclasses
import pathlib
from collections.abc import Callable, Sequence
from typing import Any

from rich.console import RenderableType

from lantm.errors import LantmError
from lantm.grids.cell import Cell
from lantm.grids.folder import GridFolder
from lantm.grids.request import Request
from lantm.report import comparison_table
from lantm.trained import zoo
from lantm.trained.loading import load_file
from lantm.training import Row


@dataclasses.dataclass(frozen=True)
class Study:
    """A table of the paper."""

    name: str
    summary: str
    """One line for the help."""
    cells: Callable[[Request], Sequence[Cell]]
    """All cells, for the requested recipe, seeds, epochs, scales and problems."""
    columns: tuple[str, ...] = ()
    """Columns of its printed table besides task, model, scale and scores."""
    table: Callable[[Sequence[Row], str, Sequence[str]], RenderableType] = comparison_table
    """Makes its printed table, from rows, a title and these columns."""

    def selected(self, request: Request, command: str = "") -> list[Cell]:
        """The requested cells; a name that selects none is a `LantmError`.

        Names of one kind of label are alternatives. If there are names of several kinds, such as a task and a
        variation, a cell has to match all kinds.
        """
        cells = [dataclasses.replace(cell, study=self.name, command=command) for cell in self.cells(request)]
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

    def folder(self, runs: pathlib.Path, results: pathlib.Path) -> GridFolder:
        """The folder of its trainings, with records in `results` below its name: one JSON per cell."""
        return GridFolder(runs, results / self.name)


def from_zoo(cells: Sequence[Cell]) -> tuple[list[dict[str, Any]], list[Cell]]:
    """The results of the machines that ship with the package, without training; and the cells that have none."""
    found, without = [], []
    for cell in cells:
        if (path := zoo.find(cell.machine_name)) is None or path.stem != cell.machine_name:
            without.append(cell)
        else:
            found.append(cell.score_machine(load_file(path)))
    return found, without


def _check_names(flag: str, asked: Sequence[str], known: Sequence[str], study: str) -> None:
    for name in asked:
        if name not in known:
            raise LantmError(f"--{flag} {name} chooses nothing of {study}: known are {', '.join(known)}")

"""`Study`: a named function from a `Request` to its cells.

Your own study is a `Study` in `STUDIES` (`lantm.grids.studies`).
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from rich.console import RenderableType

from lantm.errors import LantmError
from lantm.grids.cell import Cell
from lantm.grids.request import Request
from lantm.report import comparison_table
from lantm.trained import zoo
from lantm.trained.loading import load_file
from lantm.training import Row


@dataclasses.dataclass(frozen=True)
class Study:
    """A named table of cells."""

    name: str
    summary: str
    """One line for the help."""
    cells: Callable[[Request], Sequence[Cell]]
    """Returns all cells, for the requested recipe, seeds, epochs, scales and problems."""
    columns: tuple[str, ...] = ()
    """Columns of its printed table besides task, model, scale and scores."""
    table: Callable[[Sequence[Row], str, Sequence[str]], RenderableType] = comparison_table
    """Creates the printed table from rows, a title and these columns."""

    def selected(self, request: Request, command: str = "") -> list[Cell]:
        """The requested cells; raises a `LantmError` for a name that selects none.

        Names of one kind of label are alternatives. With names of several kinds, such as a task and a variation, a cell
        has to match all kinds.
        """
        cells = [dataclasses.replace(cell, study=self.name, command=command) for cell in self.cells(request)]
        models, others = labels_of(cells)
        check_names("models", request.models, models, self.name)
        check_names("only", request.only, [label for kind in others.values() for label in kind], self.name)
        asked = {"model": set(request.models)} | {kind: set(request.only) & set(others[kind]) for kind in others}
        return [
            cell for cell in cells if all(not names or cell.labels.get(kind) in names for kind, names in asked.items())
        ]


def labels_of(cells: Sequence[Cell]) -> tuple[list[str], dict[str, list[str]]]:
    """The models of cells, and their other labels by kind, in the order of the cells."""
    known: dict[str, dict[str, None]] = {"model": {}}
    for cell in cells:
        for kind, label in cell.labels.items():
            known.setdefault(kind, {})[label] = None
    models = list(known.pop("model"))
    return models, {kind: list(labels) for kind, labels in known.items()}


def from_zoo(cells: Sequence[Cell]) -> tuple[list[dict[str, Any]], list[Cell]]:
    """The results of the zoo's machines, without training; and the cells that have no machine."""
    found, without = [], []
    for cell in cells:
        if (path := zoo.find(cell.machine_name)) is None or path.stem != cell.machine_name:
            without.append(cell)
        else:
            found.append(cell.score_machine(load_file(path)))
    return found, without


def check_names(flag: str, asked: Sequence[str], known: Sequence[str], study: str) -> None:
    """Raises a `LantmError` for a requested name that is unknown."""
    for name in asked:
        if name not in known:
            raise LantmError(f"--{flag} {name} selects nothing in {study}: known are {', '.join(known)}")

"""`lantm reproduce all`: the list of all studies and recipes of the documentation's tables.

These tables use the cells of the studies; trainings that studies share are done once.
"""

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

from lantm.errors import LantmError
from lantm.grids.cell import Cell
from lantm.grids.request import Request
from lantm.grids.studies.programs import PROGRAMS
from lantm.grids.studies.sequences import GENERALISATION, SEQUENCES
from lantm.grids.studies.texts import LANGUAGE
from lantm.grids.studies.tweaks import TWEAKS
from lantm.grids.study import Study, check_names, labels_of
from lantm.training import ModelName

ALL = "all"
"""The name for all studies together."""
SUMMARY = "all tables of the paper by all recipes of the documentation, on one page; language if --data is given"
QUICK = ("copy", "as-it-is", "no-gate-bias", "all")
"""The rows of a quick version by default: a task, two variations, and all kinds of programs."""
LAST: ModelName = "lstm"
"""The model whose cells are trained last, since they take as long as all others together."""


class Part(NamedTuple):
    """A study with one recipe."""

    study: Study
    recipe: str = "paper"
    models: tuple[ModelName, ...] = ()
    """The models included in the documentation; all by default."""


PARTS = (
    Part(SEQUENCES),
    Part(SEQUENCES, "robust", ("lantm-invnorm",)),
    Part(SEQUENCES, "exact"),
    Part(GENERALISATION),
    Part(GENERALISATION, "robust"),
    Part(GENERALISATION, "exact"),
    Part(TWEAKS),
    Part(PROGRAMS),
    Part(PROGRAMS, "robust", ("lantm-invnorm", "lantm-softmax")),
    Part(LANGUAGE),
)


def check_request(request: Request) -> None:
    """Raises a `LantmError` for options that apply only to a single study."""
    for flag, given in (("scales", request.scales), ("hard", request.hard)):
        if given:
            raise LantmError(f"--{flag} applies to a single study: leave it out, since each has its own")


def cells_of_all(request: Request, command: str = "") -> list[Cell]:
    """The requested cells of all studies in training order; raises a `LantmError` for a name that selects none.

    Cells that share a training are adjacent, so that it stays in memory; those of the LSTM come last.
    """
    check_request(request)
    parts = [part for part in PARTS if request.folder is not None or part.study is not LANGUAGE]
    if request.quick:
        parts = [part for part in parts if part.recipe == "paper"]
    known = [_known(part, request) for part in parts]
    models = [model for found, _ in known for model in found]
    check_names("models", request.models, list(dict.fromkeys(models)), ALL)
    names = [label for _, found in known for label in found]
    check_names("only", request.only, list(dict.fromkeys(names)), ALL)
    cells = [
        cell for part, found in zip(parts, known, strict=True) for cell in _selected(part, request, *found, command)
    ]
    if not cells:
        raise LantmError("--only and --models together select no cell: leave one out")
    first = {cell.run_name: at for at, cell in reversed(list(enumerate(cells)))}
    return sorted(cells, key=lambda cell: (cell.experiment.model == LAST, first[cell.run_name]))


def tables_of(cells: Sequence[Cell]) -> dict[tuple[str, str], list[Cell]]:
    """The cells of every study and recipe, in the order of the tables."""
    found: dict[tuple[str, str], list[Cell]] = {(part.study.name, part.recipe): [] for part in PARTS}
    for cell in cells:
        found[cell.study, cell.experiment.recipe_name].append(cell)
    return {names: alike for names, alike in found.items() if alike}


def _asked_of(part: Part, request: Request) -> Request:
    return dataclasses.replace(request, recipe=part.recipe, only=(), models=())


def _known(part: Part, request: Request) -> tuple[list[str], list[str]]:
    """The models of a part, and all other labels of its rows."""
    models, others = labels_of(part.study.cells(_asked_of(part, request)))
    known = [model for model in models if not part.models or model in part.models]
    return known, [label for kind in others.values() for label in kind]


def _selected(part: Part, request: Request, models: Sequence[str], names: Sequence[str], command: str) -> list[Cell]:
    """The requested cells of a part; empty if it has none of the models or none of the names."""
    asked_names = request.only or (QUICK if request.quick else ())
    only = tuple(name for name in asked_names if name in names)
    chosen = tuple(model for model in models if not request.models or model in request.models)
    if not chosen or (request.only and not only):
        return []
    asked = dataclasses.replace(_asked_of(part, request), only=only, models=chosen)
    return part.study.selected(asked, command)

"""The tables of docs/second-paper.md: eight tasks, all models, by recipe."""

import pathlib
from typing import Any

from study_tables import MODEL_NAMES, NOT_RUN, Results, cut_off, ours, row_of

from lantm.grids import Request
from lantm.grids.cell import Cell
from lantm.grids.studies import STUDIES
from lantm.paper import account

STUDY = "second-paper"
SCALES = ("1x", "2x", "4x")


def scores(root: pathlib.Path, recipe: str) -> str:
    """Every cell of a recipe, run or not; one line if none was."""
    results = Results(root, STUDY, "" if recipe == "paper" else f" --recipe {recipe}")
    found = results.cells(recipe)
    head = ["task", "model", "paper, about: 2x", *(f"{'ours: ' * (scale == '1x')}{scale}" for scale in SCALES)]
    head += ["median coarse: 1x", "2x", "4x", "seeds that solve 1x, 2x, 4x", "parameters", "seconds"]
    cells = STUDIES[STUDY].cells(Request(recipe=recipe))
    return results.table(head, [_row(cell, found.get(tuple(cell.labels.values()))) for cell in cells])


def _row(cell: Cell, result: dict[str, Any] | None) -> list[str]:
    experiment, figures = cell.experiment, cell.figures.get("2x")
    tests = [row_of(result, scale) for scale in SCALES]
    return [
        experiment.task.partition("[")[0],
        _model(cell),
        f"~{figures['coarse']}/{figures['fine']}" if figures else "",
        *map(ours, tests),
        *(cut_off(row, "median_coarse") if row else NOT_RUN for row in tests),
        ", ".join(f"{row['solved']} of {row['seeds']}" for row in tests if row) or NOT_RUN,
        f"{account(experiment.machine, experiment.source().vocabulary).ours:,}",
        f"{result['training_seconds']:,.0f}" if result else NOT_RUN,
    ]


def _model(cell: Cell) -> str:
    model = MODEL_NAMES[cell.experiment.model]
    return f"{model}, sphere" if cell.extra.get("geometry") == "sphere" else model

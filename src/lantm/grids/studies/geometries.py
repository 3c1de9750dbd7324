"""Studies `geometries` and its text version: the paper's tasks in every key space, which the paper proposes as future
work."""

import dataclasses
from typing import Any

from lantm.grids.cell import Cell
from lantm.grids.request import Request
from lantm.grids.studies.sequences import TASKS, requested, varied
from lantm.grids.studies.texts import text_cells
from lantm.grids.study import Study
from lantm.paper.published import sequence_figures
from lantm.report import perplexity_table
from lantm.training import Experiment

PAPERS = "translation"
"""The key space of the paper's experiments."""
KEY_SPACES = (
    PAPERS,
    "translation-1",
    "translation-3",
    "translation-8",
    "rotation",
    "scaling-rotation",
    "se2",
    "sphere",
    "sphere[radius=8]",
    "disk",
    "disk[radius=8]",
    "hyperbolic-3",
)
"""Spaces with a radius occur twice: nearly flat over the length of a training problem, and strongly curved."""
STARTS: dict[str, dict[str, Any]] = {
    "rotation": {"state_range": 1.0},
    "scaling-rotation": {"state_range": 1.0, "initial_step": 1.0},
}
"""Changes for groups that fix the origin: heads that start there never leave it, and half steps end there."""
EPOCHS = 1000
"""Half of the recipe's epochs."""
LANGUAGE_KEY_SPACES = {PAPERS: "", "disk": "disk"}
"""Key spaces, with the part of file names that distinguishes their trainings from the paper's."""


def _within(experiment: Experiment, geometry: str) -> Experiment:
    """The experiment in another key space, with one start per seed, for a fair comparison."""
    changes = {} if experiment.recipe_name == "paper" else STARTS.get(geometry, {})
    return varied(experiment, {"geometry": geometry, "starts": 1, **changes})


def _cells(request: Request) -> list[Cell]:
    half = request
    if request.epochs is None and not request.quick:
        half = dataclasses.replace(request, epochs=EPOCHS)
    return [
        Cell(
            experiment=_within(requested(task, "lantm-invnorm", half), geometry),
            scales=request.scales or (1, 2, 4),
            figures=sequence_figures(task, "lantm-invnorm") if geometry == PAPERS else {},
            request=request,
            varied=geometry,
            extra={"geometry": geometry},
        )
        for task in TASKS
        for geometry in KEY_SPACES
    ]


def _text_cells(request: Request) -> list[Cell]:
    return text_cells(
        request,
        [("lantm-invnorm", {"geometry": geometry}, varied) for geometry, varied in LANGUAGE_KEY_SPACES.items()],
    )


GEOMETRIES = Study(
    "geometries",
    "5 tasks in every key space, InvNorm at 1x, 2x and 4x the training lengths; meant for --recipe robust",
    _cells,
    columns=("geometry",),
)
LANGUAGE_GEOMETRIES = Study(
    "language-geometries",
    "perplexities of InvNorm with keys in the plane and in the disk, on the text of --data",
    _text_cells,
    columns=("geometry",),
    table=perplexity_table,
)

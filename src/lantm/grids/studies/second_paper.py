"""The authors' second paper (Yang and Rush, 2017): eight tasks, keys in the plane and on a sphere, and its baselines.

The recipe `paper` stands for that paper's recipe, `second`. The peers have neither `robust` nor `exact`; they are
trained by `tuned` instead.
"""

import dataclasses

from lantm.grids.cell import Cell
from lantm.grids.request import Request
from lantm.grids.studies.sequences import requested, varied
from lantm.grids.study import Study
from lantm.paper.presets import MODELS
from lantm.paper.published import second_figures
from lantm.training import Experiment, ModelName

TASKS = (
    *("copy", "reverse", "bigramFlip", "oddFirst", "double[highest_first=true]", "addition", "repeatCopy"),
    "prioritySort",
)
PLANE, SPHERE = "translation", "sphere"


def _cells(request: Request) -> list[Cell]:
    return [
        Cell(
            experiment=_experiment(task, model, geometry, request),
            scales=request.scales or (1, 2, 4),
            figures=second_figures(task, model, geometry),
            request=request,
            varied=SPHERE if geometry == SPHERE else "",
            extra={"geometry": geometry} if geometry else {},
            approximate=True,
        )
        for task in TASKS
        for model, geometry in _rows()
        if request.recipe != "tuned" or not geometry
    ]


def _rows() -> list[tuple[ModelName, str]]:
    """All models; those with a key space in the plane and on the sphere."""
    spaces = [(model, geometry) for geometry in (PLANE, SPHERE) for model in MODELS if model.startswith("lantm")]
    return spaces + [(model, "") for model in MODELS if not model.startswith("lantm")]


def _experiment(task: str, model: ModelName, geometry: str, request: Request) -> Experiment:
    recipe = "second" if request.recipe == "paper" else request.recipe
    if not geometry and recipe in ("robust", "exact"):
        recipe = "tuned"
    experiment = requested(task, model, dataclasses.replace(request, recipe=recipe))
    return varied(experiment, {"geometry": SPHERE}) if geometry == SPHERE else experiment


SECOND_PAPER = Study(
    "second-paper",
    "8 tasks x all models, keys in the plane and on the sphere, at 1x, 2x and 4x (Yang and Rush, 2017)",
    _cells,
    columns=("geometry",),
)

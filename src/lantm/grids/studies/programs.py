"""Python programs (section 4.2): all six kinds of programs, and small loops alone, with three models."""

import dataclasses

from lantm.grids.cell import Cell
from lantm.grids.request import Request
from lantm.grids.study import Study
from lantm.paper.presets import PAPER_MODELS, SMALL_LOOPS, preset
from lantm.paper.published import PROGRAMS as FIGURES
from lantm.training import Experiment, ModelName

TASKS = {"all": "programs", "loop": SMALL_LOOPS}
SEEDS = 8


def _requested(task: str, model: ModelName, request: Request) -> Experiment:
    experiment = preset(task, model, request.recipe)
    if not request.quick:
        return request.applied_to(experiment, SEEDS)
    recipe = dataclasses.replace(experiment.recipe, epochs=6, batches=50, test_every=2, test_batches=5)
    return request.applied_to(dataclasses.replace(experiment, recipe=recipe, lengths=(1, 2)), 2)


def _cells(request: Request) -> list[Cell]:
    return [
        Cell(
            experiment=_requested(task, model, request),
            scales=request.scales or (1,),
            figures={"1x": FIGURES[kinds, model]},
            request=request,
            extra={"kinds": kinds},
        )
        for kinds, task in TASKS.items()
        for model in PAPER_MODELS
    ]


PROGRAMS = Study(
    "programs",
    "Python programs of four digits, all six kinds and small loops alone, x 3 models (tables of section 4.2)",
    _cells,
    columns=("median_fine",),
)

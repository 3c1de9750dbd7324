"""The five sequence tasks of the paper (section 4.1): its table at scales 1x and 2x, and InvNorm at longer lengths."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from lantm.errors import LantmError
from lantm.grids.cell import Cell
from lantm.grids.request import Request
from lantm.grids.study import Study
from lantm.machine import LstmConfig
from lantm.paper.presets import PAPER_MODELS, preset
from lantm.paper.published import sequence_figures
from lantm.tasks import make_task
from lantm.training import Experiment, ModelName

TASKS = ("copy", "reverse", "bigramFlip", "double", "addition")
SEEDS = {"lstm": 3}  # all others have 8
SEEDS_OF_EXACT = 10


def requested(task: str, model: ModelName, request: Request) -> Experiment:
    """The preset of a task and a model, with the requested seeds and epochs."""
    experiment = preset(task, model, request.recipe)
    if request.quick:
        experiment = _quick(experiment)
        return request.applied_to(experiment, experiment.seeds)
    return request.applied_to(experiment, SEEDS_OF_EXACT if request.recipe == "exact" else SEEDS.get(model, 8))


def varied(experiment: Experiment, changes: Mapping[str, Any]) -> Experiment:
    """The experiment with changed settings of its machine or recipe."""

    def changed(record: Any) -> Any:
        own = {name: value for name, value in changes.items() if hasattr(record, name)}
        return dataclasses.replace(record, **own)

    return dataclasses.replace(experiment, machine=changed(experiment.machine), recipe=changed(experiment.recipe))


def _quick(experiment: Experiment) -> Experiment:
    """Short problems, few epochs, one or two seeds: exercises everything, learns little."""
    large = isinstance(experiment.machine, LstmConfig)  # a hundred times as many parameters
    recipe = dataclasses.replace(
        experiment.recipe,
        epochs=4 if large else 100,
        batches=min(experiment.recipe.batches, 10),
        test_every=2 if large else 25,
        test_batches=5,
    )
    lengths = make_task(experiment.task).train_lengths
    return dataclasses.replace(
        experiment, recipe=recipe, seeds=1 if large else 2, lengths=(lengths.smallest, min(8, lengths.largest))
    )


def _sequence_cells(request: Request) -> list[Cell]:
    return [
        Cell(
            experiment=requested(task, model, request),
            scales=request.scales or (1, 2),
            figures=sequence_figures(task, model),
            request=request,
        )
        for task in TASKS
        for model in PAPER_MODELS
        if request.recipe not in ("exact", "tuned") or (model == "lstm") == (request.recipe == "tuned")
    ]


def _further_cells(request: Request) -> list[Cell]:
    if request.recipe == "tuned":
        raise LantmError("generalisation uses InvNorm, which has no recipe tuned: use paper, robust or exact")
    exact = request.recipe == "exact"
    return [
        Cell(
            experiment=requested(task, model, request),
            scales=request.scales or ((4, 5, 8, 16, 64, 256) if exact else (4, 5, 8)),
            figures=sequence_figures(task, model),
            request=request,
        )
        for task in TASKS
        for model in (("lantm-invnorm", "lantm-softmax") if exact else ("lantm-invnorm",))
    ]


SEQUENCES = Study(
    "sequences", "5 tasks x 3 models at 1x and 2x the training lengths (table of section 4.1)", _sequence_cells
)
GENERALISATION = Study(
    "generalisation",
    "InvNorm at 4x, 5x and 8x the training lengths, with the recipe exact also SoftMax and to 256x, or at --scales",
    _further_cells,
)

"""The experiment that the paper proposes and does not do: its tasks in every key space, and language in the disk."""

import dataclasses
import re
from collections.abc import Sequence
from typing import Any

from lantm.experiments.paper import sequence_figures
from lantm.experiments.presets import language_machine
from lantm.experiments.studies.language import LanguageCell, language_cells
from lantm.experiments.studies.sequences import TASKS, requested, scale_suffix
from lantm.experiments.study import Request, Study
from lantm.experiments.trained_cell import TrainedCell
from lantm.machine import LantmConfig
from lantm.report import perplexity_table
from lantm.training import Experiment

PAPERS = "translation"
"""The key space of the paper's own experiments."""
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
"""Those with a radius twice: hardly curved on the way of a training problem, and strongly."""
STARTS: dict[str, dict[str, Any]] = {
    "rotation": {"state_range": 1.0},
    "scaling-rotation": {"state_range": 1.0, "initial_step": 1.0},
}
"""Where the origin never moves, our recipes' start there would be for ever, and one of half steps would end there."""
EPOCHS = 1000
"""Half of what our recipe takes for the best machines."""
LANGUAGE_KEY_SPACES = {PAPERS: "", "disk": "disk"}
"""With what tells their trainings from the paper's own, as a part of names of files."""


def _in_names(geometry: str) -> str:
    """A geometry as a part of names of files."""
    return re.sub(r"[^a-z0-9]+", "-", geometry).strip("-")


def _within(experiment: Experiment, geometry: str) -> Experiment:
    """The experiment in another key space, with one start a seed: to compare spaces, not to have the best machine."""
    changed: dict[str, Any] = {"geometry": geometry}
    experiment = dataclasses.replace(experiment, recipe=dataclasses.replace(experiment.recipe, starts=1))
    if experiment.recipe_name != "paper":
        changed |= STARTS.get(geometry, {})
    return dataclasses.replace(experiment, machine=dataclasses.replace(experiment.machine, **changed))


def _cells(request: Request) -> list[TrainedCell]:
    epochs = request.epochs or (None if request.quick else EPOCHS)
    return [
        TrainedCell(
            experiment=_within(requested(task, "lantm-invnorm", dataclasses.replace(request, epochs=epochs)), geometry),
            scales=request.scales or (1, 2, 4),
            figures=sequence_figures(task, "lantm-invnorm") if geometry == PAPERS else {},
            request=request,
            varied=_in_names(geometry),
            extra={"geometry": geometry},
            suffix=scale_suffix(request),
        )
        for task in TASKS
        for geometry in KEY_SPACES
    ]


def _language_cells(request: Request) -> Sequence[LanguageCell]:
    machine = language_machine("lantm-invnorm")
    assert isinstance(machine, LantmConfig)
    return language_cells(
        request,
        [
            ("lantm-invnorm", dataclasses.replace(machine, geometry=geometry), varied)
            for geometry, varied in LANGUAGE_KEY_SPACES.items()
        ],
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
    _language_cells,
    columns=("geometry",),
    table=perplexity_table,
)

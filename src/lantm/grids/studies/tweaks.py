"""The paper's smaller claims (section 4 and appendix A): each tweak taken away from LANTM-InvNorm, on all tasks."""

import dataclasses
from typing import Any

from lantm.grids.cell import Cell
from lantm.grids.request import Request
from lantm.grids.studies.sequences import TASKS, requested, scale_suffix
from lantm.grids.study import Study
from lantm.training import Experiment

VARIATIONS: dict[str, dict[str, Any]] = {
    "as-it-is": {},
    "no-gate-bias": {"write_gate_bias": 0.0},
    "no-normalisation": {"normalise_steps": False},
    "no-interpolation": {"interpolate_actions": False},
    "power-2": {"weighting": "invnorm[power=2.0]"},
}
"""By name, what each changes in the machine of the recipe."""


def _vary(experiment: Experiment, variation: str) -> Experiment:
    return dataclasses.replace(experiment, machine=dataclasses.replace(experiment.machine, **VARIATIONS[variation]))


def _cells(request: Request) -> list[Cell]:
    return [
        Cell(
            experiment=_vary(requested(task, "lantm-invnorm", request), variation),
            scales=request.scales or (1, 2),
            figures={},
            request=request,
            varied=variation if VARIATIONS[variation] else "",
            extra={"variation": variation},
            suffix=scale_suffix(request),
        )
        for task in TASKS
        for variation in VARIATIONS
    ]


TWEAKS = Study(
    "tweaks",
    "InvNorm without the write-gate bias, step normalisation, action interpolation; with the inverse fourth power",
    _cells,
    columns=("variation", "epochs_until_solved"),
)

"""Ablation of the recipe `exact`: each mechanism alone, each one left out, all and none.

Every seed has a single start, so that the table shows how often a machine succeeds, not how often the best of several
does. Even seeds follow the recipe's curriculum, odd ones do not.
"""

import dataclasses
from typing import Any

from lantm.grids.cell import Cell
from lantm.grids.request import Request
from lantm.grids.studies.sequences import TASKS, requested, varied
from lantm.grids.study import Study

# The settings that turn each mechanism off. Cell settling needs bounded cells.
_OFF: dict[str, dict[str, Any]] = {
    "settling": {"settle_reads": False},
    "bound": {"cell_bound": None, "settle_cells": 0.0},
    "full-gates": {"controller_overshoot": 0.0},
    "end": {"write_end": False},
}
_NONE = {name: value for off in _OFF.values() for name, value in off.items()}
VARIATIONS: dict[str, dict[str, Any]] = {
    "all": {},
    "none": _NONE,
    **{f"{name}-alone": {key: value for key, value in _NONE.items() if key not in off} for name, off in _OFF.items()},
    **{f"no-{name}": off for name, off in _OFF.items()},
    "no-cell-settling": {"settle_cells": 0.0},
    **{f"cell-settling-{speed}": {"settle_cells": speed} for speed in (0.004, 0.016)},
    # Mechanisms of the training.
    "no-noise": {"noise": 0.0},
    "no-hard-problems": {"hard_share": 0.0},
}
"""Changes to the machine or the training of the recipe `exact`, by name."""

PROBLEMS = 640
"""Problems per score: enough to decide whether a seed solves a length, in a fifth of the time."""


def _cells(request: Request) -> list[Cell]:
    request = dataclasses.replace(request, problems=min(request.problems, PROBLEMS))
    exact = dataclasses.replace(request, recipe="exact", seeds=8 if request.seeds is None else request.seeds)
    return [
        Cell(
            experiment=varied(requested(task, "lantm-invnorm", exact), {"starts": 1, **VARIATIONS[variation]}),
            scales=request.scales or (1, 2, 16),
            figures={},
            request=request,
            varied=variation,
            extra={"variation": variation},
        )
        for task in TASKS
        for variation in VARIATIONS
    ]


MECHANISMS = Study(
    "mechanisms",
    "each mechanism of the recipe exact alone, left out, and all together, in single starts",
    _cells,
    columns=("variation",),
)

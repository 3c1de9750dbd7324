"""The paper's minor claims (section 4 and appendix A) and unspecified details: one variation at a time, on all tasks.

Every switch of the machine or the recipe has a row here or is used by a preset; otherwise it should be removed.
"""

from typing import Any

from lantm.grids.cell import Cell
from lantm.grids.request import Request
from lantm.grids.studies.sequences import TASKS, requested, varied
from lantm.grids.study import Study

VARIATIONS: dict[str, dict[str, Any]] = {
    "as-it-is": {},
    # The paper's tweaks, each turned off.
    "no-gate-bias": {"write_gate_bias": 0.0},
    "no-normalisation": {"normalise_steps": False},
    "no-interpolation": {"interpolate_actions": False},
    "no-read-interpolation": {"interpolate_read_actions": False},
    # Other interpretations of what the paper leaves open (docs/machine.md).
    "power-2": {"weighting": "invnorm[power=2.0]"},
    "renormalised": {"weighting": "invnorm[renormalise=true]"},
    "read-sees-write": {"read_sees_write": True},
    "sigmoid-vectors": {"squash_vectors": "sigmoid"},
    "momentum": {"momentum": 0.95},
    "adam": {"optimiser": "adam"},
    "two-write-heads": {"write_heads": 2},
}
"""Changes to the machine or the training of the recipe, by name."""


def _cells(request: Request) -> list[Cell]:
    return [
        Cell(
            experiment=varied(requested(task, "lantm-invnorm", request), VARIATIONS[variation]),
            scales=request.scales or (1, 2),
            figures={},
            request=request,
            varied=variation if VARIATIONS[variation] else "",
            extra={"variation": variation},
        )
        for task in TASKS
        for variation in VARIATIONS
    ]


TWEAKS = Study(
    "tweaks",
    "InvNorm without each of the paper's tweaks, and with the other readings of what it leaves open",
    _cells,
    columns=("variation", "epochs_until_solved"),
)

"""Encodes a machine (config and weights) and its problems for a page, so that the page can run it.

The weights are stored as compressed 32-bit floats. 16-bit weights would halve the page, but change the machine's logits
in the third digit.
"""

import dataclasses
from typing import Any

import numpy as np

from lantm import weight_files
from lantm.batch import Batch
from lantm.geometry import GEOMETRIES
from lantm.machine import WEIGHTINGS, Lantm, Lstm, LstmController, Model
from lantm.report.pages.binary import compressed

MOST_PARAMETERS = 500_000  # maximum number of parameters of a machine in a page: 2.5 MB
# The parts supported by assets/engine.
_GEOMETRIES = ("translation", "rotation", "scaling-rotation", "se2", "sphere", "disk", "hyperbolic")
_WEIGHTINGS = ("invnorm", "softmax")
ENGINE = tuple(
    f"engine/{name}.js"
    for name in (
        *("binary", "arithmetic", "flat", "surfaces", "half_space", "geometries", "weightings", "memory", "controller"),
        *("lantm", "lstm", "machine"),
    )
)
"""The scripts that run machines, in their order on a page. They also run without a page."""


def pack_machine(model: Model) -> dict[str, Any] | None:
    """The encoded machine; None if a page cannot run it, because it is large or has custom parts."""
    arrays = weight_files.named_arrays(model)
    if sum(array.size for array in arrays.values()) > MOST_PARAMETERS:
        return None
    packed: dict[str, Any] = {"config": dataclasses.asdict(model.config)}
    if type(model) is Lantm and type(model.layer.controller) is LstmController:
        access = model.layer.access
        geometry, weighting = _described(GEOMETRIES, access.geometry), _described(WEIGHTINGS, access.weighting)
        if geometry["name"] not in _GEOMETRIES or weighting["name"] not in _WEIGHTINGS:
            return None
        packed |= {"model": "lantm", "geometry": geometry, "weighting": weighting}
    elif type(model) is Lstm:
        packed |= {"model": "lstm"}
    else:
        return None
    whole = np.concatenate([np.asarray(array, "<f4").reshape(-1) for array in arrays.values()])
    return packed | {
        "arrays": [[name, list(array.shape)] for name, array in arrays.items()],
        # First bytes of all numbers, then second bytes, and so on: signs and exponents are similar, so this compresses
        # well.
        "data": compressed(whole.view(np.uint8).reshape(-1, 4).T.tobytes()),
    }


def pack_problem(batch: Batch, problem: int = 0) -> dict[str, list[int]]:
    """A problem of a batch for a page: the machine's input, and the expected answer."""
    asked = np.flatnonzero(np.asarray(batch.mask)[:, problem])
    inputs, targets = np.asarray(batch.inputs)[: asked[-1] + 1, problem], np.asarray(batch.targets)[asked, problem]
    return {"inputs": inputs.tolist(), "expected": targets.tolist()}


def _described(registry: Any, part: Any) -> dict[str, Any]:
    """The name of a geometry or weighting, and its options."""
    options = {field.name: getattr(part, field.name) for field in dataclasses.fields(part)}
    return {"name": registry.name_of(part, ignored=tuple(options)), **options}

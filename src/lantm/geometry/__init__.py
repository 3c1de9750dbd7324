"""Geometries: where keys live and how heads move. Pure mathematics, one file a geometry.

| name             | group acting on key space    | a head moves            | distances |
| ---------------- | ---------------------------- | ----------------------- | --------- |
| translation      | R^2 on R^2, by addition      | by a step               | kept      |
| translation-N    | R^N on R^N, by addition      | by a step               | kept      |
| rotation         | SO(2) on R^2                 | on a circle around 0    | kept      |
| scaling-rotation | R* x SO(2) on R^2            | on a spiral around 0    | scaled    |
| module:Name      | yours                        | as you wrote it         |           |
"""

import re

from lantm.errors import LantmError
from lantm.geometry.base import Action, Gate, Geometry, Key, RawAction, RawKey, SquaredDistance
from lantm.geometry.euclidean import EuclideanGeometry, interpolate
from lantm.geometry.rotation import Rotation
from lantm.geometry.scaling_rotation import ScalingRotation
from lantm.geometry.translation import Translation
from lantm.registry import Registry

GEOMETRIES = Registry("geometry", Geometry)  # type: ignore[type-abstract]  # it only asks isinstance
GEOMETRIES.add("translation", Translation)
GEOMETRIES.add("rotation", Rotation)
GEOMETRIES.add("scaling-rotation", ScalingRotation)


def make_geometry(name: str) -> Geometry:
    """The geometry called `name`: a registered name, `translation-N`, or `module:Name` for your own.

    >>> make_geometry("translation-3")
    Translation(dimension=3)
    """
    if match := re.fullmatch(r"translation-([0-9]+)", name):
        return Translation(int(match[1]))
    if name.startswith("translation-"):
        raise LantmError(
            f"unknown geometry {name!r}: after 'translation-' comes the dimension of the key space, "
            "as in 'translation-3'"
        )
    return GEOMETRIES.make(name)


__all__ = [
    "GEOMETRIES",
    "Action",
    "EuclideanGeometry",
    "Gate",
    "Geometry",
    "Key",
    "RawAction",
    "RawKey",
    "Rotation",
    "ScalingRotation",
    "SquaredDistance",
    "Translation",
    "interpolate",
    "make_geometry",
]

"""Geometries: the key space and the group action that moves heads, one file per geometry, registered in `__init__.py`.

| name             | group acting on key space    | a head moves            | distances |
| ---------------- | ---------------------------- | ----------------------- | --------- |
| translation      | R^2 on R^2, by addition      | by a step               | kept      |
| translation-N    | R^N on R^N, by addition      | by a step               | kept      |
| rotation         | SO(2) on R^2                 | on a circle around 0    | kept      |
| scaling-rotation | R* x SO(2) on R^2            | on a spiral around 0    | scaled    |
| se2              | SE(2) on R^2                 | on a line or a circle   | kept      |
| sphere           | SO(3) on S^2                 | on a circle             | kept      |
| disk             | PSU(1, 1) on H^2             | on a geodesic, a circle | kept      |
| hyperbolic-N     | R^(N-1) x| R on H^N          | beside a geodesic       | kept      |
| module:Name      | user-defined                 |                         |           |

Curved spaces take a radius, in brackets after the name: `disk[radius=8]`; see docs/geometries.md.
"""

import re

from lantm.errors import LantmError
from lantm.geometry.base import Action, Gate, Geometry, Key, RawAction, RawKey, SquaredDistance
from lantm.geometry.disk import Disk
from lantm.geometry.euclidean import EuclideanGeometry, interpolate
from lantm.geometry.hyperbolic import Hyperbolic
from lantm.geometry.rigid_motion import RigidMotion
from lantm.geometry.rotation import Rotation
from lantm.geometry.scaling_rotation import ScalingRotation
from lantm.geometry.sphere import Sphere
from lantm.geometry.translation import Translation
from lantm.registry import Registry

GEOMETRIES = Registry("geometry", Geometry)  # type: ignore[type-abstract]  # for isinstance only
GEOMETRIES.add("translation", Translation)
GEOMETRIES.add("rotation", Rotation)
GEOMETRIES.add("scaling-rotation", ScalingRotation)
GEOMETRIES.add("se2", RigidMotion)
GEOMETRIES.add("sphere", Sphere)
GEOMETRIES.add("disk", Disk)
GEOMETRIES.add("hyperbolic", Hyperbolic)


def make_geometry(name: str) -> Geometry:
    """The geometry of that name: a registered name, optionally with dimension or options, or `module:Name` for your
    own.

    >>> make_geometry("translation-3")
    Translation(dimension=3)
    >>> make_geometry("sphere[radius=16.0]")
    Sphere(radius=16.0)
    """
    if numbered := re.fullmatch(r"(translation|hyperbolic)-([^\[]*)(?:\[(.*)\])?", name):
        family, dimension, options = numbered.groups()
        if not re.fullmatch("[0-9]+", dimension):
            raise LantmError(
                f"unknown geometry {name!r}: give the dimension of the key space after '{family}-', as in '{family}-3'"
            )
        name = f"{family}[dimension={dimension},{options or ''}]"
    return GEOMETRIES.make(name)


__all__ = [
    "GEOMETRIES",
    "Action",
    "Disk",
    "EuclideanGeometry",
    "Gate",
    "Geometry",
    "Hyperbolic",
    "Key",
    "RawAction",
    "RawKey",
    "RigidMotion",
    "Rotation",
    "ScalingRotation",
    "Sphere",
    "SquaredDistance",
    "Translation",
    "interpolate",
    "make_geometry",
]

"""The geometries that the laws are tested for, and the precision that they are tested in."""

import contextlib
import pathlib
from collections.abc import Iterator

import jax
import pytest

from lantm.geometry import GEOMETRIES, Geometry, make_geometry

CHECKOUT = pathlib.Path(__file__).parents[2]
NAMES = [*GEOMETRIES, "translation-1", "translation-3", "translation-8", "examples.helix:Helix"]
# The same groups, mixed in another way.
MIXED_OTHERWISE = [
    "rotation[actions=geodesic]",
    "scaling-rotation[actions=geodesic]",
    "se2[actions=geodesic]",
    "sphere[actions=geodesic,keys=geodesic]",
    "disk[actions=geodesic,keys=geodesic]",
    "hyperbolic-2[actions=geodesic,keys=geodesic]",
]


@pytest.fixture(scope="module")
def double_precision() -> Iterator[None]:
    """Laws hold to rounding, so a small tolerance tells a wrong formula from a rounded one."""
    with jax.enable_x64(True):
        yield


@pytest.fixture(scope="module", params=NAMES)
def geometry(request: pytest.FixtureRequest) -> Geometry:
    with contextlib.chdir(CHECKOUT):  # the example is found from the checkout
        return make_geometry(request.param)


@pytest.fixture(scope="module", params=[*NAMES, *MIXED_OTHERWISE])
def mixing(request: pytest.FixtureRequest) -> Geometry:
    """Every geometry, with every way to mix."""
    with contextlib.chdir(CHECKOUT):
        return make_geometry(request.param)

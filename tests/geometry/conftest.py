"""The geometries that the laws are tested for, and the precision that they are tested in."""

import contextlib
import pathlib
from collections.abc import Iterator

import jax
import pytest

from lantm.geometry import GEOMETRIES, Geometry, make_geometry

CHECKOUT = pathlib.Path(__file__).parents[2]
NAMES = [*GEOMETRIES, "translation-1", "translation-3", "translation-8", "hyperbolic-2", "examples.helix:Helix"]


@pytest.fixture(scope="module")
def double_precision() -> Iterator[None]:
    """Laws hold to rounding, so a small tolerance tells a wrong formula from a rounded one."""
    with jax.enable_x64(True):
        yield


@pytest.fixture(scope="module", params=NAMES)
def geometry(request: pytest.FixtureRequest) -> Geometry:
    with contextlib.chdir(CHECKOUT):  # the example is found from the checkout
        return make_geometry(request.param)

"""The picture of straight lines: every geometry is on it, and its lines join its keys."""

import pathlib
import re
from typing import Any

import numpy as np
import pytest

from lantm.geometry import GEOMETRIES, make_geometry

CHECKOUT = pathlib.Path(__file__).parents[2]


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(CHECKOUT / "tools")
    import straight_lines

    return straight_lines


def test_every_geometry_is_drawn(tool: Any) -> None:
    assert {re.split(r"-\d|\[", walk.geometry)[0] for walk in tool.WALKS} >= set(GEOMETRIES)
    assert tool.PICTURE.exists()


@pytest.mark.parametrize("name", ["scaling-rotation", "sphere", "disk", "hyperbolic"])
def test_lines_join_the_keys(tool: Any, name: str) -> None:
    walk = next(walk for walk in tool.WALKS if walk.geometry.startswith(name))
    geometry = make_geometry(walk.geometry)
    keys, line = tool.keys_of(geometry, walk._replace(steps=3), walk.turned or walk.action)
    assert len(line) > 3 * len(keys)
    np.testing.assert_allclose(line[:: (len(line) - 1) // 3], keys, rtol=1e-4, atol=1e-5)
    drawn = tool.seen(geometry, line)
    pieces = np.linalg.norm(np.diff(drawn, axis=0), axis=-1)
    next_to = pieces[1:] / pieces[:-1]
    assert (next_to > 0.8).all(), "no piece of the line is left out"
    assert (next_to < 1.25).all(), "no piece of the line is left out"

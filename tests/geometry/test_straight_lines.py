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


def test_lines_join_the_keys(tool: Any) -> None:
    walk = next(walk for walk in tool.WALKS if walk.geometry.startswith("disk"))
    geometry = tool.geodesic(make_geometry(walk.geometry))
    keys, line = tool.keys_of(geometry, walk._replace(steps=3), walk.action)
    np.testing.assert_allclose(line[:: (len(line) - 1) // 3], keys, rtol=1e-5, atol=1e-5)
    drawn = tool.seen(geometry, line)
    pieces = np.linalg.norm(np.diff(drawn, axis=0), axis=-1)
    assert pieces.max() < 2 * pieces.min(), "no piece of the line is left out"

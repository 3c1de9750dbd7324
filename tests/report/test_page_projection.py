"""Key spaces of machines that run in a page are drawn where figures draw them."""

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest
from engine import in_node, needs_node

from lantm.geometry import GEOMETRIES, make_geometry
from lantm.report.pages.weights import ENGINE
from lantm.report.projection import projection

pytestmark = needs_node

SPACES = ("translation-1", "translation", "translation-4", "rotation", "se2", "sphere[radius=3]", "disk[radius=2]")
BODY = """
    return given.map(({ spec, keys, to }) => {
        const geometry = GEOMETRIES[spec.name](spec);
        let space = spaceOf(spec, geometry);
        if (space.whole) space = space.look(keys);
        const places = keys.map((key, step) => space.place(key, step));
        const moved = keys.map((key, at) => space.moved(key, to[at]));
        const again = moved.map((key, step) => space.place(key, step));
        return { places, moved, again, note: space.note, outline: space.outline };
    });
"""


@pytest.mark.parametrize("name", [*SPACES, "hyperbolic-3[radius=2]", "scaling-rotation"])
def test_keys_are_placed_and_moved(name: str) -> None:
    geometry, random = make_geometry(name), np.random.default_rng(0)
    raw = random.normal(size=(12, geometry.raw_key_size)).astype("float32")
    keys = np.asarray(geometry.key(jnp.asarray(raw)), float)
    drawn = projection(geometry, keys)
    places = np.asarray(drawn.place(keys, np.arange(12.0)))
    to = places + np.array([0.0, 0.1]) if geometry.key_size == 1 else 0.7 * places + 0.05
    options = {field.name: getattr(geometry, field.name) for field in dataclasses.fields(geometry)}
    spec = {"name": GEOMETRIES.name_of(geometry, ignored=tuple(options)), **options}
    case = {"spec": spec, "keys": keys.tolist(), "to": to.tolist()}
    [found] = in_node(BODY, [case], (*ENGINE, "viewer/projection.js"))
    np.testing.assert_allclose(found["places"], places, atol=2e-5)
    np.testing.assert_allclose(found["again"], to, atol=2e-5, err_msg="a head that is dragged goes where it is put")
    assert found["note"] == drawn.note
    if drawn.bounded:
        assert len(found["outline"]) == len(drawn.outline)
        for line, expected in zip(found["outline"], drawn.outline, strict=True):
            np.testing.assert_allclose(line, expected, atol=0.01)  # near the rim, Python rounds
    if name.startswith("sphere"):
        np.testing.assert_allclose(np.linalg.norm(found["moved"], axis=1), geometry.radius, rtol=1e-6)

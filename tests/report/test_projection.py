"""How key spaces are drawn."""

import jax.numpy as jnp
import numpy as np
import pytest

from lantm.geometry import Translation, make_geometry
from lantm.report.projection import Projection, projection

RANDOM = np.random.default_rng(0)


def keys(size: int) -> np.ndarray:
    return RANDOM.normal(size=(50, size))


@pytest.mark.parametrize("name", ["translation", "rotation", "scaling-rotation"])
def test_a_plane_is_itself(name: str) -> None:
    points = keys(2)
    flat = projection(make_geometry(name), points)
    assert flat.equal
    np.testing.assert_array_equal(flat.place(points, np.zeros(50)), points)
    assert bool(flat.outline) == (name != "translation"), "the fixed point is marked where there is one"


@pytest.mark.parametrize("name", ["disk", "sphere[radius=2]", "hyperbolic-3"])
def test_a_space_with_a_rim_is_drawn_inside_it(name: str) -> None:
    geometry = make_geometry(name)
    points = np.asarray(geometry.key(jnp.asarray(5 * keys(geometry.raw_key_size))))
    flat = projection(geometry, points)
    assert flat.equal
    assert flat.bounded
    assert {"disk": "Poincare disk", "sphere[radius=2]": "whole sphere", "hyperbolic-3": "3 dimensions"}[
        name
    ] in flat.note
    rim, *net = flat.outline
    assert bool(net) == name.startswith("sphere")
    np.testing.assert_allclose(np.linalg.norm(rim, axis=-1), geometry.rim)
    drawn = flat.place(points, np.zeros(50))
    np.testing.assert_array_equal(drawn, geometry.plane_coordinates(jnp.asarray(points)))
    assert (np.linalg.norm(drawn, axis=-1) <= geometry.rim).all()


def test_the_net_of_a_sphere() -> None:
    """Parallels are circles around the middle, meridians straight lines from there: Lambert's map by hand."""
    flat = projection(make_geometry("sphere[radius=3]"), keys(3))
    parallels, meridians = flat.outline[1:6], flat.outline[6:]
    for degrees, line in zip((30, 60, 90, 120, 150), parallels, strict=True):
        np.testing.assert_allclose(np.linalg.norm(line, axis=-1), 6 * np.sin(np.radians(degrees / 2)), rtol=1e-5)
    assert len(meridians) == 12
    for at, line in enumerate(meridians):
        np.testing.assert_allclose(np.linalg.norm(line[-1]), 6.0, rtol=1e-3)
        angle = np.radians(30 * at)
        np.testing.assert_allclose(line @ [np.sin(angle), -np.cos(angle)], 0, atol=1e-5)


def test_a_line_is_drawn_over_time() -> None:
    points, times = keys(1), np.arange(50.0)
    flat = projection(make_geometry("translation-1"), points)
    assert not flat.equal
    np.testing.assert_array_equal(flat.place(points, times), np.stack([times, points[:, 0]], axis=-1))


def test_more_dimensions_are_seen_where_they_spread_most() -> None:
    """A flat cloud in space, tilted: the picture keeps its distances, and says how much it shows."""
    cloud = RANDOM.normal(size=(200, 2)) * [5, 2]
    tilt, _ = np.linalg.qr(RANDOM.normal(size=(4, 4)))
    points = cloud @ tilt[:2] + 7
    flat = projection(make_geometry("translation-4"), points)
    assert flat.equal
    assert flat.note == "4 dimensions, seen along their two principal directions (100% of the spread)"
    drawn = flat.place(points, np.zeros(200))
    for one, other in ((0, 1), (3, 9)):
        assert np.linalg.norm(drawn[one] - drawn[other]) == pytest.approx(np.linalg.norm(cloud[one] - cloud[other]))
    assert np.ptp(drawn[:, 0]) > np.ptp(drawn[:, 1]), "the widest direction is across"
    flipped = projection(make_geometry("translation-4"), points[::-1])
    np.testing.assert_allclose(flipped.place(points, np.zeros(200)), drawn, atol=1e-9)


@pytest.mark.parametrize("points", [np.full((3, 3), np.nan), np.ones((3, 3)), np.zeros((0, 3))])
def test_nothing_to_see(points: np.ndarray) -> None:
    flat = projection(make_geometry("translation-3"), points)
    assert flat.place(np.ones((2, 3)), np.zeros(2)).shape == (2, 2)


def test_a_geometry_of_one_s_own_is_drawn_as_it_likes() -> None:
    class Mirrored(Translation):
        pass

    @projection.register
    def _(geometry: Mirrored, keys: np.ndarray) -> Projection:
        return Projection(lambda keys, times: -keys)

    assert projection(Mirrored(2), keys(2)).place(np.ones((1, 2)), np.zeros(1)).tolist() == [[-1, -1]]
    assert projection(Translation(2), keys(2)).place(np.ones((1, 2)), np.zeros(1)).tolist() == [[1, 1]]

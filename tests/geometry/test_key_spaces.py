"""Where keys are on the sphere and in hyperbolic space: distances, ways between keys, walks of any length."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jaxtyping import Array

from lantm.geometry import Disk, Geometry, Hyperbolic, Sphere, make_geometry
from lantm.geometry.half_space import HalfSpaceGeometry


def draw(*shape: int, seed: int = 0, scale: float = 1.5) -> Array:
    return jnp.asarray(scale * np.random.default_rng(seed).normal(size=shape))


def length(geometry: Geometry, one: Array, other: Array) -> np.ndarray:
    """The length of the way on the surface."""
    distance = np.sqrt(geometry.squared_distance(one, other))
    if isinstance(geometry, Sphere):  # its distances are chords
        return 2 * geometry.radius * np.arcsin(np.minimum(distance / (2 * geometry.radius), 1))
    return distance


@pytest.mark.usefixtures("double_precision")
@pytest.mark.parametrize("space", [Sphere(2.0), Disk(2.0), Hyperbolic(3, 2.0)], ids=["sphere", "disk", "hyperbolic"])
def test_mixed_keys_lie_on_the_way(space: Geometry) -> None:
    """The lengths of both parts add up to the whole, and gate 0.5 gives the middle."""
    candidate, previous = (space.key(draw(30, space.raw_key_size, seed=seed)) for seed in (0, 1))
    gate = jax.nn.sigmoid(draw(30, 1, seed=2))
    mixed = space.mix_keys(gate, candidate, previous)
    whole, first, second = (
        length(space, *ends) for ends in ((previous, candidate), (previous, mixed), (mixed, candidate))
    )
    np.testing.assert_allclose(first + second, whole, rtol=1e-10)
    middle = space.mix_keys(jnp.full((30, 1), 0.5), candidate, previous)
    np.testing.assert_allclose(length(space, previous, middle), whole / 2, rtol=1e-10)


@pytest.mark.usefixtures("double_precision")
def test_hyperbolic_distances_by_the_textbook() -> None:
    space = Hyperbolic(4, radius=3.0)
    k, other = space.key(draw(50, 4)), space.key(draw(50, 4, seed=1))
    expected = 3.0 * np.arccosh(1 + np.sum((k - other) ** 2, axis=-1) / (2 * k[:, -1] * other[:, -1]))
    np.testing.assert_allclose(np.sqrt(space.squared_distance(k, other)), expected, rtol=1e-10)
    from_base = 2 * 3.0 * np.arcsinh(np.linalg.norm(draw(50, 4), axis=-1) / (2 * 3.0))
    np.testing.assert_allclose(np.sqrt(space.squared_distance(k, space.key(jnp.zeros(4)))), from_base, rtol=1e-10)


def test_near_keys_far_out_are_told_apart() -> None:
    """In single precision, eight radii from the middle, where the disk has 3e-4 left to the rim."""
    disk = Disk(radius=1.0)
    walk = disk.action(jnp.array([2 * math.sinh(4.0), 0.0, 0.0], jnp.float32))
    step = disk.action(jnp.array([0.01, 0.0, 0.0], jnp.float32))
    near = disk.key(jnp.zeros(2, jnp.float32))
    there, beside = disk.act(walk, near), disk.act(walk, disk.act(step, near))
    assert 1 - jnp.linalg.norm(disk.plane_coordinates(there)) < 1e-3
    assert math.sqrt(disk.squared_distance(near, there)) == pytest.approx(8, rel=1e-5)
    assert math.sqrt(disk.squared_distance(there, beside)) == pytest.approx(0.01, rel=1e-3)


@pytest.mark.parametrize("name", ["disk[radius=1]", "hyperbolic-3[radius=8]"])
def test_keys_stay_inside_for_a_hundred_thousand_steps(name: str) -> None:
    """In single precision and in all directions, at steps of length 1, with actions that are mixed at every step."""
    space = make_geometry(name)
    assert isinstance(space, HalfSpaceGeometry)
    random = np.random.default_rng(0)
    raw = jnp.asarray(random.normal(size=(16, space.raw_action_size)), jnp.float32)
    actions = space.action(raw / jnp.linalg.norm(raw, axis=-1, keepdims=True))
    keys = space.key(jnp.asarray(random.normal(size=(16, space.raw_key_size)), jnp.float32))
    gate = jnp.full((16, 1), 1e-4, jnp.float32)

    @jax.jit
    def walk(keys: Array, actions: Array) -> tuple[Array, Array, Array]:
        def step(_: Array, carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
            moved, mixed, farthest = carry
            mixed = space.mix_actions(gate, actions, mixed)
            moved = space.act(mixed, space.mix_keys(gate / 100, keys, moved))
            return moved, mixed, jnp.maximum(farthest, jnp.linalg.norm(space.plane_coordinates(moved), axis=-1))

        return lax.fori_loop(0, 100_000, step, (keys, actions, jnp.zeros(16, jnp.float32)))

    moved, mixed, farthest = walk(keys, actions)
    assert moved.dtype == jnp.float32
    assert (moved[:, -1] > 0).all()
    assert (farthest < 1).all()
    assert farthest.max() > 0.99
    assert jnp.isfinite(space.squared_distance(moved[:, None], moved)).all()
    np.testing.assert_allclose(mixed, actions, rtol=1e-3, atol=1e-5)


def test_keys_stay_on_the_sphere() -> None:
    sphere = Sphere()
    action = sphere.action(jnp.array([0.6, 0.3, 0.5], jnp.float32))
    key = lax.fori_loop(0, 100_000, lambda _, key: sphere.act(action, key), sphere.key(jnp.ones(2, jnp.float32)))
    assert float(jnp.linalg.norm(key)) == pytest.approx(64, rel=1e-6)


def test_a_great_circle_closes() -> None:
    """A shift along the sphere by a 400th of its girth is undone by 399 more."""
    sphere = Sphere(radius=10.0)
    step = sphere.action(jnp.array([2 * 10 * math.tan(math.pi / 400), 0.0, 0.0], jnp.float32))
    start = sphere.key(jnp.array([3.0, 0.0], jnp.float32))
    halfway = lax.fori_loop(0, 200, lambda _, key: sphere.act(step, key), start)
    around = lax.fori_loop(0, 200, lambda _, key: sphere.act(step, key), halfway)
    np.testing.assert_allclose(halfway, -start, atol=1e-3)
    np.testing.assert_allclose(around, start, atol=1e-3)


@pytest.mark.parametrize(
    "name", ["translation-1", "translation-8", "rotation", "se2", "sphere", "disk", "hyperbolic-3"]
)
def test_pictures_have_two_axes_and_a_rim_around_them(name: str) -> None:
    geometry = make_geometry(name)
    keys = geometry.key(draw(5, 7, geometry.raw_key_size, scale=100.0))
    drawn = geometry.plane_coordinates(keys)
    assert drawn.shape == (5, 7, 2)
    assert (geometry.rim is not None) == (name in ("sphere", "disk", "hyperbolic-3"))
    if geometry.rim is not None:
        assert jnp.linalg.norm(drawn, axis=-1).max() <= geometry.rim


def test_the_map_of_the_sphere_keeps_areas() -> None:
    """A small square of the sphere is drawn as large, wherever it lies."""
    with jax.enable_x64(True):
        sphere = Sphere(radius=3.0)
        raw = jnp.array([[0.0, 0.0], [1.0, -2.0], [9.0, 4.0]])
        on_sphere = np.asarray(jax.jit(jax.vmap(jax.jacobian(sphere.key)))(raw))
        drawn = jax.jit(jax.vmap(jax.jacobian(lambda raw: sphere.plane_coordinates(sphere.key(raw)))))(raw)
    areas = np.sqrt(np.linalg.det(np.swapaxes(on_sphere, 1, 2) @ on_sphere))
    np.testing.assert_allclose(np.abs(np.linalg.det(np.asarray(drawn))), areas, rtol=1e-6)

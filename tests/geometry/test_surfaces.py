"""Sphere, plane and disk against other implementations: jaxlie's groups, Python's complex numbers, matrix powers."""

import math

import jax
import jax.numpy as jnp
import jaxlie
import numpy as np
import pytest
from jaxtyping import Array, Float

from lantm.geometry import Disk, Hyperbolic, RigidMotion, Sphere
from lantm.geometry.surface import SurfaceGeometry

pytestmark = pytest.mark.usefixtures("double_precision")

SURFACES = [Sphere(radius=2.0), RigidMotion(radius=2.0), Disk(radius=2.0)]
surfaces = pytest.mark.parametrize("surface", SURFACES, ids=["sphere", "plane", "disk"])
HALF = jnp.array([0.5])


def draw(*shape: int, seed: int = 0, scale: float = 1.5) -> Float[Array, "..."]:
    return jnp.asarray(scale * np.random.default_rng(seed).normal(size=shape))


def quaternion(action: Float[Array, "batch 4"]) -> Float[Array, "batch 4"]:
    """w, x, y, z: alpha turns about the vertical axis, beta tilts the north pole to the right and up."""
    alpha, beta = action[..., :2], action[..., 2:]
    return jnp.stack([alpha[..., 0], -beta[..., 1], beta[..., 0], alpha[..., 1]], axis=-1)


def test_the_sphere_agrees_with_jaxlie() -> None:
    sphere = Sphere(radius=2.0)
    a, b = sphere.action(draw(50, 3)), sphere.action(draw(50, 3, seed=1))
    key = sphere.key(draw(50, 2, seed=2))
    theirs_a, theirs_b = jaxlie.SO3(quaternion(a)), jaxlie.SO3(quaternion(b))

    np.testing.assert_allclose(sphere.act(a, key), theirs_a.apply(key), atol=1e-13)
    np.testing.assert_allclose(quaternion(sphere.compose(a, b)), (theirs_a @ theirs_b).wxyz, atol=1e-13)
    np.testing.assert_allclose(quaternion(sphere.inverse(a)), theirs_a.inverse().wxyz, atol=1e-13)

    mixed = sphere.mix_actions(HALF, a, b)
    expected = jaxlie.SO3.exp(HALF * (theirs_a @ theirs_b.inverse()).log()) @ theirs_b
    np.testing.assert_allclose(sphere.act(mixed, key), expected.apply(key), atol=1e-12)


def test_the_plane_agrees_with_jaxlie() -> None:
    plane = RigidMotion(radius=2.0)
    a, b = plane.action(draw(50, 3)), plane.action(draw(50, 3, seed=1))
    key = plane.key(draw(50, 2, seed=2))

    def theirs(action: Float[Array, "batch 4"]) -> jaxlie.SE2:
        turn = 2 * jnp.arctan2(action[:, 1], action[:, 0])
        return jaxlie.SE2.from_xy_theta(*plane.act(action, jnp.zeros((50, 2))).T, turn)

    np.testing.assert_allclose(plane.act(a, key), theirs(a).apply(key), atol=1e-13)
    np.testing.assert_allclose(plane.act(plane.compose(a, b), key), (theirs(a) @ theirs(b)).apply(key), atol=1e-13)
    np.testing.assert_allclose(plane.act(plane.inverse(a), key), theirs(a).inverse().apply(key), atol=1e-13)

    mixed = plane.mix_actions(HALF, a, b)
    expected = jaxlie.SE2.exp(HALF * (theirs(a) @ theirs(b).inverse()).log()) @ theirs(b)
    np.testing.assert_allclose(plane.act(mixed, key), expected.apply(key), atol=1e-12)


def as_complex(pairs: Float[Array, "batch 2"]) -> np.ndarray:
    return np.asarray(pairs[..., 0]) + 1j * np.asarray(pairs[..., 1])


def test_the_disk_agrees_with_complex_numbers() -> None:
    disk = Disk(radius=2.0)
    action, key, other = disk.action(draw(50, 3)), disk.key(draw(50, 2, seed=1)), disk.key(draw(50, 2, seed=2))
    alpha, beta = as_complex(action[:, :2]), as_complex(action[:, 2:])
    z, w = as_complex(disk.plane_coordinates(key)), as_complex(disk.plane_coordinates(other))

    moved = (alpha * z + beta) / (beta.conj() * z + alpha.conj())
    np.testing.assert_allclose(as_complex(disk.plane_coordinates(disk.act(action, key))), moved, atol=1e-13)
    distance = 2.0 * 2 * np.arctanh(np.abs(z - w) / np.abs(1 - z * w.conj()))
    np.testing.assert_allclose(np.sqrt(disk.squared_distance(key, other)), distance, atol=1e-12)
    assert np.abs(z).max() > 0.6
    assert np.abs(moved).max() > 0.8


def matrices(surface: SurfaceGeometry, action: Float[Array, "batch 4"]) -> np.ndarray:
    alpha, beta = as_complex(action[:, :2]), as_complex(action[:, 2:])
    rows = [[alpha, beta], [-surface.curvature * beta.conj(), alpha.conj()]]
    return np.moveaxis(np.array(rows), -1, 0)


@surfaces
def test_actions_are_matrices_of_determinant_one(surface: SurfaceGeometry) -> None:
    a, b = surface.action(draw(20, 3)), surface.action(draw(20, 3, seed=1))
    product = matrices(surface, a) @ matrices(surface, b)
    np.testing.assert_allclose(matrices(surface, surface.compose(a, b)), product, atol=1e-13)
    np.testing.assert_allclose(np.linalg.det(matrices(surface, a)), 1, atol=1e-13)
    undone = np.linalg.inv(matrices(surface, a))
    np.testing.assert_allclose(matrices(surface, surface.inverse(a)), undone, atol=1e-13)


@surfaces
def test_mixing_halves_the_way_between_two_actions(surface: SurfaceGeometry) -> None:
    """The middle is (candidate previous^-1)^(1/2) previous, by eigenvalues; turns and walks are met."""
    candidate, previous = surface.action(draw(40, 3)), surface.action(draw(40, 3, seed=1))
    way = matrices(surface, candidate) @ np.linalg.inv(matrices(surface, previous))
    if surface.curvature < 0:
        trace = np.trace(way, axis1=1, axis2=2).real
        assert (trace < 2).any()
        assert (trace > 2).any()
    middle = surface.mix_actions(HALF, candidate, previous)
    for mixed, exponent in ((middle, 0.5), (surface.mix_actions(HALF, middle, previous), 0.25)):
        values, vectors = np.linalg.eig(way)
        power = vectors @ (values[:, None] ** exponent * np.eye(2)) @ np.linalg.inv(vectors)
        np.testing.assert_allclose(matrices(surface, mixed), power @ matrices(surface, previous), atol=1e-10)


@surfaces
def test_an_action_and_its_negative_are_the_same(surface: SurfaceGeometry) -> None:
    candidate, previous = surface.action(draw(20, 3)), surface.action(draw(20, 3, seed=1))
    key, gate = surface.key(draw(20, 2, seed=2)), jax.nn.sigmoid(draw(20, 1, seed=3))
    np.testing.assert_allclose(surface.act(-candidate, key), surface.act(candidate, key), atol=1e-13)
    mixed, other = (surface.mix_actions(gate, c, previous) for c in (candidate, -candidate))
    np.testing.assert_allclose(mixed, other, atol=1e-13)


@pytest.mark.parametrize("surface", [Sphere(), RigidMotion(), Disk()])
def test_a_turn_does_not_shorten_the_step(surface: SurfaceGeometry) -> None:
    base = surface.key(jnp.zeros(2))
    for raw in ([0.6, 0.0, 0.8], [0.0, -0.28, 0.96], [-0.6, -0.8, 0.0]):
        moved = surface.act(surface.action(jnp.array(raw)), base)
        assert math.sqrt(surface.squared_distance(base, moved)) == pytest.approx(1, rel=1e-2)


@surfaces
def test_negative_numbers_undo(surface: SurfaceGeometry) -> None:
    raw = draw(20, 3)
    np.testing.assert_allclose(surface.action(-raw), surface.inverse(surface.action(raw)), atol=1e-15)


@pytest.mark.parametrize("geometry", [Sphere(), RigidMotion(), Disk(), Hyperbolic(), Hyperbolic(2)])
def test_raw_numbers_are_in_steps(geometry: SurfaceGeometry) -> None:
    """Of length 1, they shift the base point by 1 and name a key at distance 1, in every direction."""
    base = geometry.key(jnp.zeros(geometry.raw_key_size))
    for direction in np.eye(geometry.raw_key_size):
        raw = jnp.concatenate([direction, jnp.zeros(geometry.raw_action_size - geometry.raw_key_size)])
        there, moved = geometry.key(jnp.asarray(direction)), geometry.act(geometry.action(raw), base)
        assert math.sqrt(geometry.squared_distance(base, there)) == pytest.approx(1, rel=1e-3)
        assert math.sqrt(geometry.squared_distance(there, moved)) < 0.02
        drawn = geometry.plane_coordinates(there)
        unit = 2 * geometry.radius if isinstance(geometry, Disk | Hyperbolic) else 1.0
        np.testing.assert_allclose(unit * drawn, direction[:2], atol=0.02)


@pytest.mark.parametrize("surface", [Sphere(), RigidMotion(), Disk()])
def test_a_raw_turn_is_a_step_at_the_distance_of_the_radius(surface: SurfaceGeometry) -> None:
    action = surface.action(jnp.array([0.0, 0.0, 1.0]))
    base = surface.key(jnp.zeros(2))
    np.testing.assert_allclose(surface.act(action, base), base, atol=1e-12)
    near = surface.key(jnp.array([1.0, 0.0]))
    assert math.sqrt(surface.squared_distance(near, surface.act(action, near))) == pytest.approx(1 / 64, rel=1e-3)

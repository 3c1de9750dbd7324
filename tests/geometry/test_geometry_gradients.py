"""Gradients are finite everywhere, in particular where a formula of the paper is singular."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from compiled import Compiled
from jaxtyping import Array, Float

from lantm.geometry import Geometry, Rotation, ScalingRotation, Sphere

pytestmark = pytest.mark.usefixtures("double_precision")  # so that the arguments decide


DTYPE = jnp.float32  # in which machines are trained, and in which least is finite


@pytest.fixture(scope="module")
def geometry(geometry: Geometry) -> Compiled:
    return Compiled(geometry)


def assert_differentiable(function: Callable[..., Array], *arguments: Float[Array, "points _"]) -> None:
    """At every point the value and its derivatives in all arguments are finite, and no derivative is huge."""
    every_argument = tuple(range(len(arguments)))

    @jax.jit
    @jax.vmap
    def value_and_derivatives(*arguments: Array) -> tuple[Array, tuple[Array, ...]]:
        return function(*arguments), jax.jacobian(function, every_argument)(*arguments)

    value, jacobians = value_and_derivatives(*arguments)
    assert jnp.isfinite(value).all()
    for jacobian in jacobians:
        # Squared and summed for clipping, derivatives much larger than this overflow single precision.
        np.testing.assert_array_less(np.abs(jacobian), 1e7)


def assert_finite(function: Callable[..., Array], *arguments: Array) -> None:
    """The value and a derivative in all arguments are finite, large as they may be."""

    @jax.jit
    def value_and_pulled(*arguments: Array) -> tuple[Array, tuple[Array, ...]]:
        value, pull = jax.vjp(function, *arguments)
        return value, pull(jnp.ones_like(value))

    for array in jax.tree.leaves(value_and_pulled(*arguments)):
        assert np.isfinite(array).all()


def test_at_small_raw_numbers(geometry: Compiled) -> None:
    sizes = jnp.array([0.0, 1e-30, 1e-9, 1e-6, 2e-6, 1e-3, 1.0], DTYPE)
    sizes = jnp.concatenate([sizes, -sizes])[:, None]
    assert_differentiable(geometry.action, sizes * jnp.ones(geometry.raw_action_size, DTYPE))
    assert_differentiable(geometry.key, sizes * jnp.ones(geometry.raw_key_size, DTYPE))


def test_at_coincident_keys(geometry: Compiled) -> None:
    keys = geometry.key(jnp.array([[0.0], [1e-20], [3.0]], DTYPE) * jnp.ones(geometry.raw_key_size, DTYPE))
    assert_differentiable(geometry.squared_distance, keys, keys)


def test_at_the_identity(geometry: Compiled) -> None:
    identity = geometry.identity().astype(DTYPE)[None]
    origin = geometry.key(jnp.zeros((1, geometry.raw_key_size), DTYPE))

    def all_three(action: Array, other: Array, key: Array) -> Array:
        return jnp.concatenate([geometry.act(action, key), geometry.compose(action, other), geometry.inverse(action)])

    assert_differentiable(all_three, identity, identity, origin)


def test_at_free_slots(geometry: Compiled) -> None:
    """Free slots of a memory are full of zeros. What they give is not used, but it is computed, and summed."""
    keys = geometry.key(jnp.array([[0.0], [3.0], [-1e3]], DTYPE) * jnp.ones(geometry.raw_key_size, DTYPE))
    assert_finite(geometry.squared_distance, keys, jnp.zeros_like(keys))


def test_far_out(geometry: Compiled) -> None:
    """Keys as far as a controller can ask for: near the rim of the disk, near the south pole of the sphere."""
    random = np.random.default_rng(1)
    raw = random.normal(size=(6, geometry.raw_key_size)) * np.array([1e3, 1e5, 1e7, 1e9, 1e3, 1e5])[:, None]
    steps = jnp.asarray(1e3 * random.normal(size=(6, geometry.raw_action_size)), DTYPE)

    def move_and_measure(raw: Array, steps: Array) -> Array:
        keys = geometry.key(raw)
        others = geometry.mix_keys(jnp.full((6, 1), 0.3, DTYPE), keys, keys[::-1])
        return geometry.squared_distance(geometry.act(geometry.action(steps), keys), others)

    assert_finite(move_and_measure, jnp.asarray(raw, DTYPE), steps)


def test_between_opposite_points_of_the_sphere() -> None:
    sphere = Sphere()
    gates = jnp.array([0.0, 0.5 - 1e-5, 0.5 - 1e-7, 0.5, 0.5 + 1e-9, 0.5 + 1e-6, 1.0], DTYPE)[:, None]
    here = jnp.tile(sphere.key(jnp.array([[50.0, -30.0]], DTYPE)), (len(gates), 1))
    assert_differentiable(sphere.mix_keys, gates, here, -here)
    assert_differentiable(sphere.squared_distance, here, -here)


def test_between_opposite_actions(geometry: Compiled) -> None:
    gates = jnp.array([0.0, 0.5 - 1e-5, 0.5 - 1e-7, 0.5, 0.5 + 1e-9, 0.5 + 1e-6, 1.0], DTYPE)[:, None]
    directions = np.random.default_rng(0).normal(size=(4, geometry.raw_action_size))
    raw = jnp.asarray(np.repeat(directions, len(gates), axis=0), DTYPE)
    gates = jnp.tile(gates, (len(directions), 1))
    assert_differentiable(geometry.mix_actions, gates, geometry.action(raw), geometry.action(-raw))


def test_inverse_of_raw_zero(geometry: Compiled) -> None:
    """What `action` makes of the raw numbers 0 has an inverse, in single precision too."""
    action = geometry.action(jnp.zeros(geometry.raw_action_size, DTYPE))
    undone = geometry.compose(action, geometry.inverse(action))
    np.testing.assert_allclose(undone, geometry.identity(), atol=1e-5)


@pytest.mark.parametrize("group", [Rotation(), ScalingRotation()], ids=["rotation", "scaling-rotation"])
def test_training_can_leave_raw_zero(group: Geometry) -> None:
    """The raw numbers 0 are not a place where the gradient vanishes."""
    assert jnp.abs(jax.jacobian(group.action)(jnp.zeros(2))).max() > 0.1

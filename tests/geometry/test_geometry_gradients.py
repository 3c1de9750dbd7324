"""Gradients are finite everywhere, in particular where a formula of the paper is singular."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array, DTypeLike, Float

from lantm.geometry import Geometry, Rotation, ScalingRotation

pytestmark = pytest.mark.usefixtures("double_precision")  # so that the arguments decide


@pytest.fixture(params=[jnp.float32, jnp.float64], ids=["single", "double"])
def dtype(request: pytest.FixtureRequest) -> DTypeLike:
    return request.param


def assert_differentiable(function: Callable[..., Array], *arguments: Float[Array, "points _"]) -> None:
    """At every point the value and its derivatives in all arguments are finite, and no derivative is huge."""
    assert jnp.isfinite(function(*arguments)).all()
    every_argument = tuple(range(len(arguments)))
    for jacobian in jax.jit(jax.vmap(jax.jacobian(function, every_argument)))(*arguments):
        # Squared and summed for clipping, derivatives much larger than this overflow single precision.
        np.testing.assert_array_less(jnp.abs(jacobian), 1e7)


def test_at_small_raw_numbers(geometry: Geometry, dtype: DTypeLike) -> None:
    sizes = jnp.array([0.0, 1e-30, 1e-9, 1e-6, 2e-6, 1e-3, 1.0], dtype)
    sizes = jnp.concatenate([sizes, -sizes])[:, None]
    assert_differentiable(geometry.action, sizes * jnp.ones(geometry.raw_action_size, dtype))
    assert_differentiable(geometry.key, sizes * jnp.ones(geometry.raw_key_size, dtype))


def test_at_coincident_keys(geometry: Geometry, dtype: DTypeLike) -> None:
    keys = geometry.key(jnp.array([[0.0], [1e-20], [3.0]], dtype) * jnp.ones(geometry.raw_key_size, dtype))
    assert_differentiable(geometry.squared_distance, keys, keys)


def test_at_the_identity(geometry: Geometry, dtype: DTypeLike) -> None:
    identity = geometry.identity().astype(dtype)[None]
    origin = geometry.key(jnp.zeros((1, geometry.raw_key_size), dtype))
    assert_differentiable(geometry.act, identity, origin)
    assert_differentiable(geometry.compose, identity, identity)
    assert_differentiable(geometry.inverse, identity)


def test_between_opposite_actions(geometry: Geometry, dtype: DTypeLike) -> None:
    gates = jnp.array([0.0, 0.5 - 1e-5, 0.5 - 1e-7, 0.5, 0.5 + 1e-9, 0.5 + 1e-6, 1.0], dtype)[:, None]
    directions = np.random.default_rng(0).normal(size=(4, geometry.raw_action_size))
    raw = jnp.asarray(np.repeat(directions, len(gates), axis=0), dtype)
    gates = jnp.tile(gates, (len(directions), 1))
    assert_differentiable(geometry.mix_actions, gates, geometry.action(raw), geometry.action(-raw))


def test_inverse_of_raw_zero(geometry: Geometry) -> None:
    """What `action` makes of the raw numbers 0 has an inverse, in single precision too."""
    action = geometry.action(jnp.zeros(geometry.raw_action_size, jnp.float32))
    undone = geometry.compose(action, geometry.inverse(action))
    np.testing.assert_allclose(undone, geometry.identity(), atol=1e-5)


@pytest.mark.parametrize("group", [Rotation(), ScalingRotation()], ids=["rotation", "scaling-rotation"])
def test_training_can_leave_raw_zero(group: Geometry) -> None:
    """The raw numbers 0 are not a place where the gradient vanishes."""
    assert jnp.abs(jax.jacobian(group.action)(jnp.zeros(2))).max() > 0.1

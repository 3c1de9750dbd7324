"""Rotations against another implementation of SO(2), and where the paper's formulas are singular."""

import jax.numpy as jnp
import jaxlie
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lantm.geometry import Rotation

pytestmark = pytest.mark.usefixtures("double_precision")

angles = st.one_of(st.floats(-np.pi, np.pi), st.floats(-1e-6, 1e-6))
coordinates = st.floats(-10.0, 10.0)


@settings(max_examples=50, deadline=None)
@given(first=angles, second=angles, scale=st.floats(1e-3, 1e3), x=coordinates, y=coordinates)
def test_agrees_with_jaxlie(first: float, second: float, scale: float, x: float, y: float) -> None:
    rotation, key = Rotation(), jnp.array([x, y])
    a, b = (rotation.action(scale * jnp.array([jnp.cos(angle), jnp.sin(angle)])) for angle in (first, second))
    oracle_a, oracle_b = jaxlie.SO2.from_radians(first), jaxlie.SO2.from_radians(second)

    def agree(actual: object, expected: object) -> None:
        np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-13)

    agree(a, oracle_a.unit_complex)
    agree(rotation.identity(), jaxlie.SO2.identity().unit_complex)
    agree(rotation.inverse(a), oracle_a.inverse().unit_complex)
    agree(rotation.compose(a, b), (oracle_a @ oracle_b).unit_complex)
    agree(rotation.act(a, key), oracle_a.apply(key))


def test_raw_zero_is_the_identity() -> None:
    np.testing.assert_array_equal(Rotation().action(jnp.zeros(2)), Rotation().identity())


def test_small_raw_numbers_keep_their_direction() -> None:
    np.testing.assert_allclose(Rotation().action(jnp.array([-3e-6, 4e-6])), [-0.6, 0.8], rtol=1e-12)


@pytest.mark.parametrize("angle", [0.0, 1.0, 2.5])
def test_halfway_between_opposites_the_previous_action_goes_on(angle: float) -> None:
    previous = jnp.array([jnp.cos(angle), jnp.sin(angle)])
    mixed = Rotation().mix_actions(jnp.array([0.5]), -previous, previous)
    np.testing.assert_allclose(mixed, previous, rtol=1e-12)


def test_mixing_takes_the_middle_of_the_arc() -> None:
    mixed = Rotation().mix_actions(jnp.array([0.5]), jnp.array([0.0, 1.0]), jnp.array([1.0, 0.0]))
    np.testing.assert_allclose(mixed, np.sqrt([0.5, 0.5]), rtol=1e-12)


@settings(max_examples=50, deadline=None)
@given(gate=st.floats(0.0, 1.0), candidate=angles, previous=angles)
def test_mixed_actions_are_rotations(gate: float, candidate: float, previous: float) -> None:
    a, b = (jnp.array([jnp.cos(angle), jnp.sin(angle)]) for angle in (candidate, previous))
    mixed = Rotation().mix_actions(jnp.array([gate]), a, b)
    np.testing.assert_allclose(jnp.hypot(*mixed), 1, rtol=1e-14)

"""Scaling rotations against Python's complex numbers."""

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jaxtyping import Array, Float

from lantm.geometry import ScalingRotation
from lantm.geometry.scaling_rotation import SMALLEST_SCALE

pytestmark = pytest.mark.usefixtures("double_precision")

numbers = st.complex_numbers(min_magnitude=1e-3, max_magnitude=1e3)


def pair(number: complex) -> Float[Array, "2"]:
    return jnp.array([number.real, number.imag])


@settings(max_examples=50, deadline=None)
@given(a=numbers, b=numbers, k=numbers)
def test_agrees_with_complex_arithmetic(a: complex, b: complex, k: complex) -> None:
    group = ScalingRotation()

    def agree(actual: Float[Array, "2"], expected: complex) -> None:
        np.testing.assert_allclose(actual, pair(expected), rtol=0, atol=1e-14 * abs(expected))

    np.testing.assert_array_equal(group.action(pair(a)), pair(a))
    agree(group.act(pair(a), pair(k)), a * k)
    agree(group.compose(pair(a), pair(b)), a * b)
    agree(group.inverse(pair(a)), 1 / a)
    agree(group.mix_actions(jnp.array([0.25]), pair(a), pair(b)), 0.25 * a + 0.75 * b)


@pytest.mark.parametrize("raw", [(0.0, 0.0), (-SMALLEST_SCALE, 0.0), (-0.99e-6, 0.0), (0.0, 0.5e-6)])
def test_raw_numbers_near_zero_become_a_small_scaling(raw: tuple[float, float]) -> None:
    action = ScalingRotation().action(jnp.array(raw))
    assert jnp.hypot(*action) >= 0.99 * SMALLEST_SCALE
    np.testing.assert_allclose(action, raw, atol=2.01 * SMALLEST_SCALE)


def test_opposite_actions_mix_to_zero_as_in_the_paper() -> None:
    mixed = ScalingRotation().mix_actions(jnp.array([0.5]), jnp.array([-1.0, -2.0]), jnp.array([1.0, 2.0]))
    np.testing.assert_array_equal(mixed, 0)

"""Translations by hand."""

import jax.numpy as jnp
import numpy as np
import pytest

from lantm.errors import LantmError
from lantm.geometry import Translation


def test_adds() -> None:
    plane = Translation()
    step, key = jnp.array([1.0, -2.0]), jnp.array([0.5, 0.25])
    np.testing.assert_array_equal(plane.act(step, key), [1.5, -1.75])
    np.testing.assert_array_equal(plane.compose(step, key), [1.5, -1.75])
    np.testing.assert_array_equal(plane.inverse(step), [-1.0, 2.0])
    np.testing.assert_array_equal(plane.action(step), step)
    assert plane.squared_distance(jnp.array([4.0, 0.0]), jnp.array([1.0, 4.0])) == 25


@pytest.mark.parametrize("dimension", [1, 2, 7])
def test_sizes_are_the_dimension(dimension: int) -> None:
    space = Translation(dimension)
    assert {space.key_size, space.action_size, space.raw_key_size, space.raw_action_size} == {dimension}


def test_squared_distance_is_the_sum_over_all_components() -> None:
    assert Translation(5).squared_distance(jnp.zeros(5), jnp.arange(5.0)) == 0 + 1 + 4 + 9 + 16


@pytest.mark.parametrize("dimension", [0, -1])
def test_dimension_is_positive(dimension: int) -> None:
    with pytest.raises(LantmError, match=f"dimension 1 or more, not {dimension}"):
        Translation(dimension)

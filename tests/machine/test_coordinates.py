"""Functions of small arrays, computed number by number: the same numbers and the same slopes."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lantm.geometry import GEOMETRIES, make_geometry
from lantm.machine import LantmConfig
from lantm.machine.kernel.coordinates import CannotSplitError, by_coordinates
from lantm.machine.kernel.heads import squared_distance

BATCH = 3


def split(array: Any) -> np.ndarray:
    """The first axis goes into the numbers."""
    found = np.empty(array.shape[1:], object)
    for at in np.ndindex(found.shape):
        found[at] = array[(slice(None), *at)]
    return found


def joined(numbers: np.ndarray) -> np.ndarray:
    return np.stack([np.asarray(number) for number in numbers.flat], axis=-1).reshape(-1, *numbers.shape)


def test_what_arrays_can_do() -> None:
    def everything(x: Any) -> Any:
        y = jnp.concatenate([x[::-1], jnp.stack([x[0] * 2, jnp.where(x[1] > 0, x[1], 0.5)])])
        return jnp.sum(y.reshape(2, 2).T * jnp.array([1.0, 3.0]), axis=1), jax.nn.softplus(x)[:1], jnp.asarray(x, int)

    x = np.random.default_rng(0).normal(size=(BATCH, 2)).astype(np.float32)
    for ours, theirs in zip(by_coordinates(everything, split(x)), jax.vmap(everything)(x), strict=True):
        np.testing.assert_allclose(joined(ours), theirs, rtol=1e-6)


def test_what_is_not_known_is_refused() -> None:
    with pytest.raises(CannotSplitError, match="sort"):
        by_coordinates(jnp.sort, split(np.ones((BATCH, 2), np.float32)))


@pytest.mark.parametrize("name", list(GEOMETRIES))
def test_distances_and_their_slopes(name: str) -> None:
    geometry = make_geometry(name)
    random = np.random.default_rng(1)
    raw = random.normal(size=(2, BATCH, geometry.raw_key_size)).astype(np.float32)
    near, far = (geometry.key(jnp.asarray(points)) for points in raw)
    near = near.at[0].set(far[0])  # where they coincide, a slope written out by hand is what keeps it finite
    expected = jax.vmap(jax.value_and_grad(geometry.squared_distance))(near, far)

    def distance(key: list[Any], address: list[Any]) -> Any:
        return jnp.sum(squared_distance(LantmConfig(geometry=name).access, key, address))

    value, slopes = jax.value_and_grad(distance)(list(near.T), list(far.T))
    np.testing.assert_allclose(value, expected[0].sum(), rtol=1e-4)
    np.testing.assert_allclose(np.stack(slopes, axis=-1), expected[1], rtol=1e-3, atol=1e-5)

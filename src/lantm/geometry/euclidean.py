"""The key space R^n with the Euclidean distance, shared by all groups of the paper."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from lantm.geometry.base import Gate, Geometry, Key, RawKey, SquaredDistance


def interpolate(
    gate: Float[Array, "*#batch 1"],
    candidate: Float[Array, "*#batch size"],
    previous: Float[Array, "*#batch size"],
) -> Float[Array, "*#batch size"]:
    """Linear interpolation from `previous` (gate 0) to `candidate` (gate 1).

    >>> print(interpolate(jnp.array([0.25]), jnp.array([4.0, 0.0]), jnp.array([0.0, 8.0])))
    [1. 6.]
    """
    # Not previous + gate * (candidate - previous), which rounds at gate 1. This is exact at gates 0 and 1.
    return gate * candidate + (1 - gate) * previous


def squared_euclidean_distance(
    point: Float[Array, "*#batch size"], other: Float[Array, "*#batch size"]
) -> Float[Array, "*#batch"]:
    """The sum of the squared differences of the components.

    >>> print(squared_euclidean_distance(jnp.array([3.0, 0.0]), jnp.array([0.0, 4.0])))
    25.0
    """
    # Component by component, and sliced before subtracting: a reduction over such a short axis made the compiled
    # recurrence 12 times slower on a CPU, and slicing the difference instead doubled the time of its gradient. Every
    # read computes its distance to the whole memory, so this is performance-critical.
    total = (point[..., 0] - other[..., 0]) ** 2
    for component in range(1, point.shape[-1]):
        total += (point[..., component] - other[..., component]) ** 2
    return total


def squared_norm(vector: Float[Array, "*#batch size"]) -> Float[Array, "*#batch 1"]:
    """The squared norm, with a last axis of length 1 so that it broadcasts against vectors.

    >>> print(squared_norm(jnp.array([2.0, 3.0, 6.0])))
    [49.]
    """
    total = vector[..., :1] ** 2
    for component in range(1, vector.shape[-1]):
        total += vector[..., component : component + 1] ** 2
    return total


class EuclideanGeometry(Geometry):
    """Base class of geometries whose keys are points of R^n, taken directly from the controller (paper, section 3).

    Subclasses define the group and the `key_size` n.
    """

    @property
    def raw_key_size(self) -> int:
        """The size of a key."""
        return self.key_size

    def key(self, raw: RawKey) -> Key:
        """The raw outputs, unchanged."""
        return raw

    def mix_keys(self, gate: Gate, candidate: Key, previous: Key) -> Key:
        """Linear interpolation of the keys."""
        return interpolate(gate, candidate, previous)

    def squared_distance(self, key: Key, address: Key) -> SquaredDistance:
        """The sum of the squared differences of the components."""
        return squared_euclidean_distance(key, address)

    def plane_coordinates(self, key: Key) -> Float[Array, "*#batch 2"]:
        """The first two components; in one dimension the second coordinate is 0."""
        if self.key_size == 1:
            return jnp.concatenate([key, jnp.zeros_like(key)], axis=-1)
        return key[..., :2]

    @property
    def rim(self) -> float | None:
        """None: keys are unbounded."""
        return None

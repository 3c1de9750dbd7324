"""`HalfSpaceGeometry`, the base class of `Disk` and `Hyperbolic`: keys in the upper half-space model of hyperbolic
space.

A key is (x, y): a point x of R^(n-1) and a height y > 0 above it. In the disk model all distances depend on the
distance of a key from the rim, which is the difference of two numbers near 1. Here they depend on the height, which
floating point stores with full relative precision however small it is.
"""

import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from lantm.geometry.base import Gate, Geometry, Key, RawKey, SquaredDistance
from lantm.geometry.elementwise import elementwise
from lantm.geometry.euclidean import squared_euclidean_distance, squared_norm
from lantm.geometry.surface import FARTHEST

# Added to a length and to its hyperbolic sine, so that their ratio is 1 if both are 0.
_TINY = 1e-30


@jax.custom_jvp
def squared_length(s: Float[Array, "*#batch"]) -> Float[Array, "*#batch"]:
    """The square of the hyperbolic length d with sinh^2(d / 2) = s.

    >>> print(squared_length(jnp.sinh(jnp.array([0.0, 1.5])) ** 2))
    [0. 9.]
    """
    return jnp.log1p(2 * (s + jnp.sqrt(s * (1 + s)))) ** 2


@squared_length.defjvp
def _squared_length_jvp(primals: Any, tangents: Any) -> tuple[Array, Array]:
    # Hand-written: the derivative of the root is infinite at 0, that of the squared length is 4.
    (s,), (change,) = primals, tangents
    root = jnp.sqrt(s * (1 + s))
    length = jnp.log1p(2 * (s + root))
    return length**2, 4 * (length + _TINY) / (2 * root + _TINY) * change


squared_length = elementwise(squared_length)


class HalfSpaceGeometry(Geometry):
    """Base class of geometries whose keys are points of hyperbolic space, of curvature -1 / `radius`^2.

    The base point is (0, 1). Keys are clipped to a ball around it, within which floating point can distinguish
    neighbouring keys: its radius is 14 `radius` for float32 and 34 `radius` for float64.
    """

    radius: eqx.AbstractVar[float]

    @property
    def raw_key_size(self) -> int:
        """The dimension of the space."""
        return self.key_size

    def key(self, raw: RawKey) -> Key:
        """The base point shifted by the raw outputs, over a distance of 2 radius asinh(|raw| / (2 radius))."""
        b = jnp.clip(raw / (2 * self.radius), -FARTHEST, FARTHEST)
        up, aside = b[..., :1], b[..., 1:]
        square = squared_norm(aside)
        stretch = jnp.sqrt(1 + up**2 + square)
        # stretch - up, without cancellation.
        long = stretch + jnp.abs(up)
        difference = jnp.where(up > 0, (1 + square) / long, long)
        height = 1 / (square + difference**2)
        return self.within_reach(jnp.concatenate([-2 * stretch * aside * height, height], axis=-1))

    def within_reach(self, key: Key) -> Key:
        """The key, clipped to the ball in which floating point can distinguish neighbouring keys."""
        reach = _reach(key)
        height = jnp.clip(key[..., -1:], math.exp(-reach), math.exp(reach))
        floor = key[..., :-1]
        # The ball is x^2 + y^2 + 1 <= 2 y cosh(reach).
        edge = jnp.maximum(2 * math.cosh(reach) * height - 1 - height**2, jnp.finfo(key.dtype).tiny)
        shrink = lax.stop_gradient(jnp.sqrt(edge / jnp.maximum(squared_norm(floor), edge)))
        return jnp.concatenate([floor * shrink, height], axis=-1)

    def mix_keys(self, gate: Gate, candidate: Key, previous: Key) -> Key:
        """Interpolation along the geodesic: a line between two points of the hyperboloid, projected back to it.

        On the hyperboloid, a key is (|key|^2, x, 1) / y.
        """
        s = self._half(candidate, previous)[..., None]
        scale = lax.rsqrt(1 + 4 * gate * (1 - gate) * s)
        new, old = gate * scale / candidate[..., -1:], (1 - gate) * scale / previous[..., -1:]
        height = 1 / (new + old)
        floor = (new * height) * candidate[..., :-1] + (old * height) * previous[..., :-1]
        return jnp.concatenate([floor, height], axis=-1)

    def squared_distance(self, key: Key, address: Key) -> SquaredDistance:
        """The square of the hyperbolic distance d: sinh^2(d / (2 radius)) = |k - a|^2 / (4 y y')."""
        return self.radius**2 * squared_length(self._half(key, address))

    def _half(self, key: Key, address: Key) -> Float[Array, "*#batch"]:
        """sinh^2(d / 2), for a distance of d radii."""
        lowest = math.exp(-_reach(key))  # free slots hold zeros, which are not a key, and are never read
        heights = jnp.maximum(key[..., -1], lowest) * jnp.maximum(address[..., -1], lowest)
        return squared_euclidean_distance(key, address) / (4 * heights)

    def plane_coordinates(self, key: Key) -> Float[Array, "*#batch 2"]:
        """The Poincare disk; in higher dimensions, the Poincare ball projected to its first two components."""
        floor, height = key[..., :-1], key[..., -1:]
        square = squared_norm(floor)
        scale = 1 / (square + (height + 1) ** 2)
        return jnp.concatenate([(square + height**2 - 1) * scale, -2 * floor[..., :1] * scale], axis=-1)

    @property
    def rim(self) -> float | None:
        """The unit circle."""
        return 1.0


def _reach(key: Key) -> float:
    """The radius of the ball that keys are clipped to; at its edge, neighbouring keys differ in the last digits
    only."""
    return -math.log(jnp.finfo(key.dtype).eps) - 2

"""SO(3) acting on the sphere: heads move on closed circles."""

import equinox as eqx
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from lantm.geometry.base import Action, Gate, Key, RawKey
from lantm.geometry.complex_numbers import conjugate, multiply, squared_modulus
from lantm.geometry.euclidean import interpolate, squared_euclidean_distance, squared_norm
from lantm.geometry.rotation import project
from lantm.geometry.surface import SurfaceGeometry, check_radius, half_radii, halves


class Sphere(SurfaceGeometry):
    """A sphere around the origin of R^3, with unit quaternions as rotations.

    The key of raw outputs (x, y) is the point whose stereographic projection from the south pole is (x, y); near the
    north pole, the base point, these are plane coordinates in steps. Distances are chords, not arcs: they rank keys in
    the same order and are smooth at opposite points, where arcs are not.

    >>> sphere = Sphere(radius=10.0)
    >>> print(sphere.key(jnp.array([0.0, 0.0])), sphere.key(jnp.array([20.0, 0.0])))
    [ 0.  0. 10.] [10.  0.  0.]
    """

    radius: float = eqx.field(static=True, default=64.0)

    key_size = 3
    raw_key_size = 2
    curvature = 1

    def __check_init__(self) -> None:
        check_radius("sphere", self.radius)

    def key(self, raw: RawKey) -> Key:
        """The inverse stereographic projection."""
        flat = half_radii(raw, self.radius)
        square = squared_modulus(flat)
        return self.radius * jnp.concatenate([2 * flat, 1 - square], axis=-1) / (1 + square)

    def act(self, action: Action, key: Key) -> Key:
        """The rotation by the unit quaternion, projected back to the sphere so that rounding does not accumulate."""
        alpha, beta = halves(action)
        east, north = key[..., :2], key[..., 2:]
        double = multiply(alpha, beta)
        turned = multiply(multiply(alpha, alpha), east) - multiply(multiply(beta, beta), conjugate(east))
        along = multiply(multiply(alpha, conjugate(beta)), east)[..., :1]
        height = (squared_modulus(alpha) - squared_modulus(beta)) * north - 2 * along
        moved = jnp.concatenate([turned + 2 * double * north, height], axis=-1)
        return moved * (self.radius * lax.rsqrt(squared_norm(moved)))

    def mix_keys(self, gate: Gate, candidate: Key, previous: Key) -> Key:
        """Linear interpolation in R^3, projected to the sphere from its centre.

        Halfway between opposite points, where the interpolation is the centre, the previous key is kept.
        """
        mixed = interpolate(gate, candidate, previous)
        return self.radius * project(mixed / self.radius, previous / self.radius)

    def squared_distance(self, key: Key, address: Key) -> Float[Array, "*#batch"]:
        """The squared length of the chord."""
        return squared_euclidean_distance(key, address)

    def plane_coordinates(self, key: Key) -> Float[Array, "*#batch 2"]:
        """Lambert's equal-area projection, with the north pole in the middle and the south pole as the rim."""
        stretch = jnp.sqrt(2 * self.radius / jnp.maximum(self.radius + key[..., 2:], 1e-6 * self.radius))
        return key[..., :2] * stretch

    @property
    def rim(self) -> float | None:
        """Twice the radius."""
        return 2.0 * self.radius

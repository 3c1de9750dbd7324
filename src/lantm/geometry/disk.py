"""The Poincare disk, a model of the hyperbolic plane, under its isometries; heads move along geodesics."""

import equinox as eqx
import jax.numpy as jnp

from lantm.geometry.base import Action, Key
from lantm.geometry.half_space import HalfSpaceGeometry
from lantm.geometry.surface import SurfaceGeometry, check_radius, halves


class Disk(SurfaceGeometry, HalfSpaceGeometry):
    """The hyperbolic plane under its orientation-preserving isometries (paper, section 5: keys stay bounded).

    Actions are the matrices (alpha, beta) of SU(1, 1), which move the disk by z -> (alpha z + beta) / (conj(beta) z +
    conj(alpha)): rotations about a point, and translations along a geodesic or a horocycle. Keys are stored as points
    of the upper half-plane (see `half_space`) and drawn as points of the disk.

    >>> disk = Disk(radius=1.0)
    >>> far = disk.act(disk.action(jnp.array([20.0, 0.0, 0.0])), disk.key(jnp.zeros(2)))
    >>> x, y = disk.plane_coordinates(far)
    >>> print(f"{x:.3f} {abs(y):.3f} {disk.squared_distance(far, disk.key(jnp.zeros(2))) ** 0.5:.2f}")
    0.995 0.000 6.00
    """

    radius: float = eqx.field(static=True, default=64.0)

    key_size = 2
    curvature = -1

    def __check_init__(self) -> None:
        check_radius("disk", self.radius)

    def act(self, action: Action, key: Key) -> Key:
        """The isometry in the half-plane: z -> (a z + b) / (c z + d), with real a, b, c, d."""
        alpha, beta = halves(action)
        a, d = alpha[..., :1] + beta[..., :1], alpha[..., :1] - beta[..., :1]
        b, c = alpha[..., 1:] - beta[..., 1:], -alpha[..., 1:] - beta[..., 1:]
        x, y = key[..., :1], key[..., 1:]
        real, imaginary = c * x + d, c * y
        scale = 1 / jnp.maximum(real**2 + imaginary**2, jnp.finfo(key.dtype).tiny)
        x, y = ((a * x + b) * real + a * y * imaginary) * scale, y * scale
        return self.within_reach(jnp.concatenate([x, y], axis=-1))

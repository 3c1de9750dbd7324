"""SE(2) acting on the plane: heads translate and turn."""

import equinox as eqx

from lantm.geometry.base import Action, Key
from lantm.geometry.complex_numbers import multiply
from lantm.geometry.euclidean import EuclideanGeometry
from lantm.geometry.surface import SurfaceGeometry, check_radius, halves


class RigidMotion(SurfaceGeometry, EuclideanGeometry):
    """The plane under rigid motions: a head turns about the origin and takes a step; repeated, it follows a line or a
    circle.

    The action (alpha, beta) maps the key k, a complex number, to alpha^2 k + alpha beta; alpha has modulus 1 and half
    the angle of the turn. A raw turn of 1 is a turn by 1 / `radius` radians: at the distance `radius` from the origin,
    it moves a key as far as a step does.

    >>> import jax.numpy as jnp
    >>> plane = RigidMotion()
    >>> print(plane.act(plane.action(jnp.array([1.0, 2.0, 0.0])), jnp.array([3.0, 3.0])))
    [4. 5.]
    """

    radius: float = eqx.field(static=True, default=64.0)

    key_size = 2
    curvature = 0

    def __check_init__(self) -> None:
        check_radius("se2", self.radius)

    def act(self, action: Action, key: Key) -> Key:
        """Turns by twice the angle of alpha, then steps."""
        alpha, beta = halves(action)
        return multiply(alpha, multiply(alpha, key) + beta)

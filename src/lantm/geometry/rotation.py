"""SO(2) acting on the plane: heads move on circles around the origin."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from lantm.geometry.base import Action, Gate, Key, RawAction
from lantm.geometry.complex_numbers import conjugate, multiply
from lantm.geometry.euclidean import EuclideanGeometry, interpolate, squared_norm

# Shorter vectors are treated as having no direction. Single precision rounds the mean of two opposite unit vectors to
# about 1e-7. A larger threshold would be wrong: controllers may start with outputs as small as 1e-5, as that of the
# paper's program experiments, whose initial weights are at most 0.0008.
SHORTEST_WITH_DIRECTION = 1e-6


def project(
    vector: Float[Array, "*#batch size"], fallback: Float[Array, "*#batch size"]
) -> Float[Array, "*#batch size"]:
    """`vector` scaled to unit norm; close to the unit vector `fallback` if `vector` is too short.

    No continuous map of the whole space to the unit sphere keeps the sphere fixed, so a discontinuity is unavoidable. A
    short vector is added to the fallback rather than replaced by it, so that its gradient is finite but not zero, and
    training can move away from it.

    >>> print(project(jnp.array([0.0, 5.0]), fallback=jnp.array([1.0, 0.0])))
    [0. 1.]
    >>> print(project(jnp.array([0.0, 0.0]), fallback=jnp.array([1.0, 0.0])))
    [1. 0.]
    """
    short = squared_norm(vector) < SHORTEST_WITH_DIRECTION**2
    # Selected before the division, so that differentiation never divides by 0.
    long_enough = jnp.where(short, vector + fallback, vector)
    return long_enough / jnp.sqrt(squared_norm(long_enough))


class Rotation(EuclideanGeometry):
    """A head turns about the origin; the action (cos t, sin t) turns by t (paper, appendix C.2).

    The angle is given by the direction of the raw outputs, independent of their length, so a machine can learn small
    turns.

    >>> quarter_turn = Rotation().action(jnp.array([0.0, 7.0]))
    >>> print(Rotation().act(quarter_turn, jnp.array([2.0, 1.0])))
    [-1.  2.]
    """

    key_size = 2
    action_size = 2
    raw_action_size = 2
    isometric = True

    def action(self, raw: RawAction) -> Action:
        """The raw outputs scaled to unit norm; the identity if they are 0."""
        return project(raw, fallback=self.identity().astype(raw.dtype))

    def identity(self) -> Float[Array, "action"]:
        """The complex number 1."""
        return jnp.array([1.0, 0.0])

    def act(self, action: Action, key: Key) -> Key:
        """The product of complex numbers."""
        return multiply(action, key)

    def compose(self, second: Action, first: Action) -> Action:
        """The product of complex numbers."""
        return multiply(second, first)

    def inverse(self, action: Action) -> Action:
        """The conjugate, which turns by the opposite angle."""
        return conjugate(action)

    def mix_actions(self, gate: Gate, candidate: Action, previous: Action) -> Action:
        """Linear interpolation of the actions, projected back to the circle (paper, section 3.4).

        Halfway between opposite actions, where the interpolation is 0, the previous action is kept.
        """
        return project(interpolate(gate, candidate, previous), fallback=previous)

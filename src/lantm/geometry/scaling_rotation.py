"""R* x SO(2) acting on the plane: heads move on spirals around the origin."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from lantm.geometry.base import Action, Gate, Key, RawAction
from lantm.geometry.complex_numbers import conjugate, multiply, squared_modulus
from lantm.geometry.euclidean import EuclideanGeometry, interpolate

# The smallest scale of an action that the controller can emit.
SMALLEST_SCALE = 1e-6
# Components of keys are clipped to this, so that squared distances stay finite: spirals grow exponentially.
_FARTHEST = 1e18


class ScalingRotation(EuclideanGeometry):
    """A head turns about the origin and scales its distance to it (paper, appendix C.1).

    The action (a, b) is the complex number a + bi, which multiplies keys. The group is all complex numbers except 0.

    >>> quarter_turn_and_double = jnp.array([0.0, 2.0])
    >>> print(ScalingRotation().act(quarter_turn_and_double, jnp.array([2.0, 1.0])))
    [-2.  4.]
    """

    key_size = 2
    action_size = 2
    raw_action_size = 2
    isometric = False

    def action(self, raw: RawAction) -> Action:
        """The raw outputs; near 0, an invertible complex number close to them.

        Outputs within `SMALLEST_SCALE` of 0 are shifted by twice that along the real axis. The gradient is that of the
        identity map, also there.
        """
        nearly_zero = squared_modulus(raw) < SMALLEST_SCALE**2
        shift = 2 * SMALLEST_SCALE * self.identity().astype(raw.dtype)
        return jnp.where(nearly_zero, raw + shift, raw)

    def identity(self) -> Float[Array, "action"]:
        """The complex number 1."""
        return jnp.array([1.0, 0.0])

    def act(self, action: Action, key: Key) -> Key:
        """The product of complex numbers."""
        return jnp.clip(multiply(action, key), -_FARTHEST, _FARTHEST)

    def compose(self, second: Action, first: Action) -> Action:
        """The product of complex numbers."""
        return multiply(second, first)

    def inverse(self, action: Action) -> Action:
        """The reciprocal of the complex number."""
        return conjugate(action) / squared_modulus(action)

    def mix_actions(self, gate: Gate, candidate: Action, previous: Action) -> Action:
        """Linear interpolation of the actions (paper, section 3.4).

        Halfway between opposite actions it is 0, which is not in the group. The paper accepts this as an event of
        probability zero, and so do we: 0 maps every key to the origin, with finite gradients.
        """
        return interpolate(gate, candidate, previous)

"""A geometry of your own, in one file: heads that move like screws.

From the folder that holds `examples`:

    lantm train copy --geometry examples.helix:Helix

If keys are points of R^n, derive from `EuclideanGeometry` and define the group. Otherwise derive from `Geometry` and
define the key space too. The docstring of `Geometry` lists the laws that have to hold.
"""

import jax.numpy as jnp
from jaxtyping import Array, Float

from lantm.geometry import Action, EuclideanGeometry, Gate, Key, RawAction, interpolate


class Helix(EuclideanGeometry):
    """Screw motions of space: the action (turn, rise) turns about the vertical axis and climbs along it.

    With gates at 0 a head repeats its action, so it moves along a helix in equal steps. As long as it rises
    it never returns to an old key, as it would on the circle of a rotation.

    >>> half_turn_up_the_stairs = jnp.array([jnp.pi, 3.0])
    >>> print(Helix().act(half_turn_up_the_stairs, jnp.array([1.0, 2.0, 0.0])).round())
    [-1. -2.  3.]
    """

    key_size = 3
    action_size = 2
    raw_action_size = 2
    isometric = True

    def action(self, raw: RawAction) -> Action:
        """The raw outputs, unchanged: an angle in radians and a height."""
        return raw

    def identity(self) -> Float[Array, "action"]:
        """No turn, no rise."""
        return jnp.zeros(2)

    def act(self, action: Action, key: Key) -> Key:
        """Rotates x and y, raises z."""
        turn, rise = action[..., 0], action[..., 1]
        x, y, z = key[..., 0], key[..., 1], key[..., 2]
        cosine, sine = jnp.cos(turn), jnp.sin(turn)
        return jnp.stack([cosine * x - sine * y, sine * x + cosine * y, z + rise], axis=-1)

    def compose(self, second: Action, first: Action) -> Action:
        """The sum of the angles and of the heights."""
        return second + first

    def inverse(self, action: Action) -> Action:
        """The opposite angle and height."""
        return -action

    def mix_actions(self, gate: Gate, candidate: Action, previous: Action) -> Action:
        """The straight line between the actions."""
        return interpolate(gate, candidate, previous)

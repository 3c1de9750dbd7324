"""R^n acting on itself by addition. With n = 2 it is the geometry of the paper's experiments."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from lantm.geometry.base import Action, Gate, Key, RawAction
from lantm.geometry.euclidean import EuclideanGeometry, interpolate
from lantm.geometry.options import check_dimension


class Translation(EuclideanGeometry):
    """A head moves by a step: v . k = k + v (paper, section 3.3).

    >>> print(Translation().act(jnp.array([1.0, 2.0]), jnp.array([3.0, 3.0])))
    [4. 5.]
    """

    dimension: int = eqx.field(static=True, default=2)

    def __check_init__(self) -> None:
        check_dimension("translations need", 1, self.dimension)

    @property
    def key_size(self) -> int:
        """The dimension."""
        return self.dimension

    @property
    def action_size(self) -> int:
        """The dimension."""
        return self.dimension

    @property
    def raw_action_size(self) -> int:
        """The dimension."""
        return self.dimension

    @property
    def isometric(self) -> bool:
        """True."""
        return True

    def action(self, raw: RawAction) -> Action:
        """The raw outputs are the step."""
        return raw

    def identity(self) -> Float[Array, "action"]:
        """The step 0."""
        return jnp.zeros(self.dimension)

    def act(self, action: Action, key: Key) -> Key:
        """The sum of key and step."""
        return key + action

    def compose(self, second: Action, first: Action) -> Action:
        """The sum of the steps."""
        return second + first

    def inverse(self, action: Action) -> Action:
        """The opposite step."""
        return -action

    def mix_actions(self, gate: Gate, candidate: Action, previous: Action) -> Action:
        """Linear interpolation of the steps (paper, section 3.4)."""
        return interpolate(gate, candidate, previous)

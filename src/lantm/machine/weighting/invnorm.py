"""InvNorm: read weights proportional to a negative power of the distance."""

import math

import equinox as eqx
import jax.numpy as jnp

from lantm.errors import LantmError
from lantm.machine.weighting.base import Affinities, Nearest, Slopes, SquaredDistances, Temperature, Weighting

# Squared distances are clipped to this, so that their reciprocals do not underflow in float32.
_FARTHEST = 1e37


class InvNorm(Weighting):
    """w_i = S_i (d_i + epsilon)^-power / sum_j (d_j + epsilon)^-power, d the squared distance.

    `power` 1 is the inverse square law of the paper's text, 2 the inverse fourth power of its footnote.

    >>> import jax.numpy as jnp
    >>> InvNorm()(jnp.array([1.0, 3.0]), jnp.ones(2), jnp.ones(2, bool)).tolist()
    [0.75, 0.25]
    """

    power: float = eqx.field(default=1.0, converter=float)
    epsilon: float = eqx.field(default=1e-9, converter=float)

    def __check_init__(self) -> None:
        if not 0 < self.power < math.inf:
            raise LantmError(f"the power of InvNorm is {self.power}: give a number above 0 (the paper's is 1)")
        if not 0 < self.epsilon < math.inf:
            raise LantmError(f"the epsilon of InvNorm is {self.epsilon}: give a number above 0 (default 1e-9)")

    @property
    def asks_for_nearest(self) -> bool:
        """The inverse square cannot overflow; other powers might."""
        return self.power != 1.0 or self.renormalise

    @property
    def convex(self) -> bool:
        """Negative powers are convex."""
        return True

    def affinities(
        self, squared_distances: SquaredDistances, temperature: Temperature | None, nearest: Nearest
    ) -> Affinities:
        """(d_i + epsilon)^-power, or ((d_min + epsilon) / (d_i + epsilon))^power if that might overflow."""
        softened = squared_distances + self.epsilon
        if not self.asks_for_nearest:
            return 1 / jnp.minimum(softened, _FARTHEST)
        # The clip at 1 affects only invisible memories, which are masked later and must not overflow before.
        return jnp.minimum((nearest + self.epsilon) / softened, 1.0) ** self.power

    def slopes(self, squared_distances: SquaredDistances, temperature: Temperature | None, nearest: Nearest) -> Slopes:
        """-power / (d_i + epsilon), also where the affinity underflows."""
        return Slopes(-self.power / (squared_distances + self.epsilon), None)

"""A weighting of your own, in one file: read weights with a heavy tail of a chosen width.

From the folder that holds `examples`:

    lantm train copy --weighting examples.own_weighting:Cauchy
    lantm train copy --weighting "examples.own_weighting:Cauchy[width=0.5]"

A weighting says how near a memory counts as, from its squared distance; the rest, gradients included, follows.
Fields are options. A weighting that wants a temperature from the controller sets `emits_temperature`, and one whose
affinities might overflow divides them by that of the nearest memory, as `lantm.machine.SoftMax` does.
"""

from lantm.machine import Weighting
from lantm.machine.weighting import Affinities, Nearest, SquaredDistances, Temperature


class Cauchy(Weighting):
    """w_i in proportion to S_i / (width^2 + d_i), d the squared distance.

    Like InvNorm with a large epsilon: memories nearer than the width are read alike, far ones by the inverse square.

    >>> import jax.numpy as jnp
    >>> Cauchy()(jnp.array([0.0, 2.0]), jnp.ones(2), jnp.ones(2, bool)).tolist()
    [0.75, 0.25]
    """

    width: float = 1.0

    def affinities(
        self, squared_distances: SquaredDistances, temperature: Temperature | None, nearest: Nearest
    ) -> Affinities:
        """The bell curve of Cauchy, also called Lorentz."""
        return 1 / (self.width**2 + squared_distances)

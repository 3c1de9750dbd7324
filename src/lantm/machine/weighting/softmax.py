"""SoftMax: read weights that decay exponentially with the squared distance."""

import math

import jax.numpy as jnp
from jaxtyping import Array, Float

from lantm.errors import LantmError
from lantm.machine.weighting.base import Affinities, Nearest, Slopes, SquaredDistances, Temperature, Weighting

# A temperature below this would turn distances of ordinary size into overflow.
_COLDEST = 1e-6
# exp(-_FADED) is zero to float32: distances are cut there.
_FADED = 100.0


class SoftMax(Weighting):
    """w_i = S_i exp(-d_i / T) / sum_j exp(-d_j / T), d the squared distance.

    T is emitted by the controller (through a softplus) unless a fixed `temperature` is given.
    """

    temperature: float | None = None

    def __check_init__(self) -> None:
        if self.temperature is not None and not 0 < self.temperature < math.inf:
            raise LantmError(f"the temperature of SoftMax is {self.temperature}: give a number above 0, or none")

    @property
    def emits_temperature(self) -> bool:
        """A fixed temperature need not be emitted."""
        return self.temperature is None

    @property
    def convex(self) -> bool:
        """Exponentials are convex."""
        return True

    def affinities(
        self, squared_distances: SquaredDistances, temperature: Temperature | None, nearest: Nearest
    ) -> Affinities:
        """exp(-(d_i - d_min) / T): the exponential law, scaled to be free of overflow."""
        return jnp.exp(-self._coldness(squared_distances, temperature, nearest))

    def slopes(self, squared_distances: SquaredDistances, temperature: Temperature | None, nearest: Nearest) -> Slopes:
        """-1 / T and d_i / T^2, of which only differences matter."""
        warmth = self._warmth(temperature, squared_distances.dtype)
        by_temperature = None
        if self.emits_temperature and temperature is not None:
            excess = self._coldness(squared_distances, temperature, nearest)
            by_temperature = jnp.where((temperature > _COLDEST)[..., None], excess / warmth, 0.0)
        return Slopes(-1 / warmth, by_temperature)

    def _warmth(self, temperature: Temperature | None, dtype: jnp.dtype) -> Float[Array, "*#reads 1"]:
        if self.temperature is not None:
            return jnp.full((1,), max(self.temperature, _COLDEST), dtype)
        assert temperature is not None
        return jnp.maximum(temperature, _COLDEST)[..., None]

    def _coldness(
        self, squared_distances: SquaredDistances, temperature: Temperature | None, nearest: Nearest
    ) -> Float[Array, "*reads slots"]:
        """(d_i - d_min) / T, cut off where its exponential has faded."""
        warmth = self._warmth(temperature, squared_distances.dtype)
        return jnp.clip((squared_distances - nearest) / warmth, 0.0, _FADED)

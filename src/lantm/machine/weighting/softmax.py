"""SoftMax: read weights that decay exponentially with the squared distance."""

import math

import jax.numpy as jnp
from jaxtyping import Array, Float

from lantm.errors import LantmError
from lantm.machine.weighting.base import Affinities, Nearest, Slopes, SquaredDistances, Temperature, Weighting

# Lower bound of the temperature, below which ordinary distances would overflow.
_COLDEST = 1e-6
# exp(-_FADED) is zero in float32: exponents are clipped to it.
_FADED = 100.0


class SoftMax(Weighting):
    """w_i = S_i exp(-d_i / T) / sum_j exp(-d_j / T), d the squared distance.

    T is emitted by the controller (through a softplus) unless `temperature` is given.
    """

    temperature: float | None = None

    def __check_init__(self) -> None:
        if self.temperature is not None and not 0 < self.temperature < math.inf:
            raise LantmError(f"the temperature of SoftMax is {self.temperature}: give a number above 0, or none")

    @property
    def emits_temperature(self) -> bool:
        """Only if it is not fixed."""
        return self.temperature is None

    @property
    def convex(self) -> bool:
        """Exponentials are convex."""
        return True

    def affinities(
        self, squared_distances: SquaredDistances, temperature: Temperature | None, nearest: Nearest
    ) -> Affinities:
        """exp(-(d_i - d_min) / T), which cannot overflow."""
        return jnp.exp(-self._coldness(squared_distances, temperature, nearest))

    def slopes(self, squared_distances: SquaredDistances, temperature: Temperature | None, nearest: Nearest) -> Slopes:
        """-1 / T and (d_i - d_min) / T^2; constants common to all memories are left out."""
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
        """(d_i - d_min) / T, clipped where the exponential is zero."""
        warmth = self._warmth(temperature, squared_distances.dtype)
        return jnp.clip((squared_distances - nearest) / warmth, 0.0, _FADED)

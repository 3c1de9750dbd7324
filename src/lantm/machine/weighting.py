"""How squared distances become read weights: the paper's InvNorm and SoftMax (section 3.1, "Read").

Both are exact in the limit where the read key meets an address (that memory alone is read), and both
have finite values and gradients for all squared distances that a float32 holds.
"""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from lantm.errors import LantmError

# A temperature below this would turn distances of ordinary size into overflow.
_COLDEST = 1e-6
# exp(-_FADED) is zero to float32: distances are cut there, so that no gradient meets an infinity.
_FADED = 100.0
# Squared distances above this are taken for it, so that their reciprocals are not lost to float32.
_FARTHEST = 1e37


class Weighting(eqx.Module):
    """Turns the squared distances from one read key to all memories into weights over the memories."""

    renormalise: eqx.AbstractVar[bool]

    @property
    @abc.abstractmethod
    def emits_temperature(self) -> bool:
        """Whether the controller emits a temperature for every read."""

    @abc.abstractmethod
    def affinities(
        self,
        squared_distances: Float[Array, "*reads slots"],
        visible: Bool[Array, "*#reads slots"],
        temperature: Float[Array, "*reads"] | None,
    ) -> Float[Array, "*reads slots"]:
        """Weights before normalisation and strengths, in any scale: zero where not visible."""

    def normaliser(
        self, affinities: Float[Array, "*reads slots"], strengths: Float[Array, "*#reads slots"]
    ) -> Float[Array, "*reads 1"]:
        """What turns affinities into shares: a share times its strength is a weight."""
        total = jnp.sum(strengths * affinities if self.renormalise else affinities, axis=-1, keepdims=True)
        # Without memories the total is 0. With `renormalise`, so it is when all strengths vanish.
        return 1 / jnp.maximum(total, jnp.finfo(total.dtype).tiny)

    def __call__(
        self,
        squared_distances: Float[Array, "*reads slots"],
        strengths: Float[Array, "*#reads slots"],
        visible: Bool[Array, "*#reads slots"],
        temperature: Float[Array, "*reads"] | None = None,
    ) -> Float[Array, "*reads slots"]:
        """The read weights w_i; all zero when no memory is visible."""
        affinities = self.affinities(squared_distances, visible, temperature)
        return strengths * affinities * self.normaliser(affinities, strengths)


class InvNorm(Weighting):
    """w_i = S_i (d_i + epsilon)^-power / sum_j (d_j + epsilon)^-power, d the squared distance.

    `power` 1 is the inverse square law of the paper's text, 2 the inverse fourth power of its footnote.
    `renormalise` puts the strengths into the denominator too, so that the weights sum to 1.

    >>> import jax.numpy as jnp
    >>> InvNorm()(jnp.array([1.0, 3.0]), jnp.ones(2), jnp.ones(2, bool)).tolist()
    [0.75, 0.25]
    """

    power: float = 1.0
    epsilon: float = 1e-9
    renormalise: bool = False

    def __check_init__(self) -> None:
        if not self.power > 0:
            raise LantmError(f"the power of InvNorm is {self.power}: give a number above 0 (the paper's is 1)")
        if not self.epsilon > 0:
            raise LantmError(f"the epsilon of InvNorm is {self.epsilon}: give a number above 0 (default 1e-9)")

    @property
    def emits_temperature(self) -> bool:
        """The inverse law has no temperature."""
        return False

    def affinities(
        self,
        squared_distances: Float[Array, "*reads slots"],
        visible: Bool[Array, "*#reads slots"],
        temperature: Float[Array, "*reads"] | None,
    ) -> Float[Array, "*reads slots"]:
        """(d_i + epsilon)^-power, scaled to be free of overflow."""
        softened = squared_distances + self.epsilon
        if self.power == 1.0:
            # Between 1/epsilon and this bound no reciprocal leaves float32: nothing to scale.
            return jnp.where(visible, 1 / jnp.minimum(softened, _FARTHEST), 0.0)
        # The scale cancels in the normalisation, so it is a constant to the gradient.
        nearest = jax.lax.stop_gradient(_smallest_visible(softened, visible))
        return jnp.where(visible, nearest / softened, 0.0) ** self.power


class SoftMax(Weighting):
    """w_i = S_i exp(-d_i / T) / sum_j exp(-d_j / T), d the squared distance.

    T is emitted by the controller (through a softplus) unless a fixed `temperature` is given.
    """

    temperature: float | None = None
    renormalise: bool = False

    def __check_init__(self) -> None:
        if self.temperature is not None and not self.temperature > 0:
            raise LantmError(f"the temperature of SoftMax is {self.temperature}: give a number above 0, or none")

    @property
    def emits_temperature(self) -> bool:
        """A fixed temperature need not be emitted."""
        return self.temperature is None

    def affinities(
        self,
        squared_distances: Float[Array, "*reads slots"],
        visible: Bool[Array, "*#reads slots"],
        temperature: Float[Array, "*reads"] | None,
    ) -> Float[Array, "*reads slots"]:
        """exp(-(d_i - d_min) / T): the exponential law, scaled to be free of overflow."""
        if self.temperature is not None:
            warmth: Array = jnp.asarray(self.temperature, squared_distances.dtype)
        else:
            assert temperature is not None
            warmth = jnp.maximum(temperature, _COLDEST)[..., None]
        nearest = jax.lax.stop_gradient(_smallest_visible(squared_distances, visible))
        excess = jnp.clip(squared_distances - nearest, 0.0, _FADED * warmth)
        return jnp.where(visible, jnp.exp(-excess / warmth), 0.0)


def _smallest_visible(
    distances: Float[Array, "*reads slots"], visible: Bool[Array, "*#reads slots"]
) -> Float[Array, "*reads 1"]:
    return jnp.min(distances, axis=-1, where=visible, initial=jnp.finfo(distances.dtype).max, keepdims=True)

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
        squared_distances: Float[Array, "slots *reads"],
        visible: Bool[Array, "slots *#reads"],
        temperature: Float[Array, "*reads"] | None,
    ) -> Float[Array, "slots *reads"]:
        """Weights before normalisation: zero where not visible, 1 for the nearest visible memory."""

    def __call__(
        self,
        squared_distances: Float[Array, "slots *reads"],
        strengths: Float[Array, "slots *#reads"],
        visible: Bool[Array, "slots *#reads"],
        temperature: Float[Array, "*reads"] | None = None,
    ) -> Float[Array, "slots *reads"]:
        """The read weights w_i; all zero when no memory is visible."""
        affinities = self.affinities(squared_distances, visible, temperature)
        weighted = strengths * affinities
        total = jnp.sum(weighted if self.renormalise else affinities, axis=0)
        # Without memories the total is 0. With `renormalise`, so it is when all strengths vanish.
        return weighted / jnp.maximum(total, jnp.finfo(total.dtype).tiny)


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
        squared_distances: Float[Array, "slots *reads"],
        visible: Bool[Array, "slots *#reads"],
        temperature: Float[Array, "*reads"] | None,
    ) -> Float[Array, "slots *reads"]:
        """((d_min + epsilon) / (d_i + epsilon))^power: the inverse law, scaled to be free of overflow."""
        softened = squared_distances + self.epsilon
        # The scale cancels in the normalisation, so it is a constant to the gradient.
        nearest = jax.lax.stop_gradient(_smallest_visible(softened, visible))
        ratio = jnp.where(visible, nearest / softened, 0.0)
        return ratio if self.power == 1.0 else ratio**self.power


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
        squared_distances: Float[Array, "slots *reads"],
        visible: Bool[Array, "slots *#reads"],
        temperature: Float[Array, "*reads"] | None,
    ) -> Float[Array, "slots *reads"]:
        """exp(-(d_i - d_min) / T): the exponential law, scaled to be free of overflow."""
        if self.temperature is not None:
            warmth: Array = jnp.asarray(self.temperature, squared_distances.dtype)
        else:
            assert temperature is not None
            warmth = jnp.maximum(temperature, _COLDEST)
        nearest = jax.lax.stop_gradient(_smallest_visible(squared_distances, visible))
        excess = jnp.clip(squared_distances - nearest, 0.0, _FADED * warmth)
        return jnp.where(visible, jnp.exp(-excess / warmth), 0.0)


def _smallest_visible(
    distances: Float[Array, "slots *reads"], visible: Bool[Array, "slots *#reads"]
) -> Float[Array, "*reads"]:
    return jnp.min(distances, axis=0, where=visible, initial=jnp.finfo(distances.dtype).max)

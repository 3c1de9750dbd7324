"""Sigmoid gates with optional overshoot, so that they can be exactly 0 or 1."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


def opened(raw: Float[Array, "*any"], overshoot: float = 0.0) -> Float[Array, "*any"]:
    """The value of a gate: a sigmoid, stretched by the overshoot at both ends and clipped to 0 and 1.

    A sigmoid never closes completely. The leak of a head's gates pulls the head slightly off its path at every step,
    and the pull grows with the distance: harmless on short problems, fatal on long ones (docs/robust-recipe.md). The
    leak of a controller's gates erodes what a cell should keep (docs/exact.md).
    """
    gate = jax.nn.sigmoid(raw)
    if not overshoot:
        return gate
    gate = (1 + 2 * overshoot) * gate - overshoot
    return jnp.where(gate < 0, 0.0, jnp.where(gate > 1, 1.0, gate))


def pull_gate(
    cotangent: Float[Array, "*any"], gate: Float[Array, "*any"], overshoot: float = 0.0
) -> Float[Array, "*any"]:
    """The cotangent of the argument of `opened`, from the cotangent and the value of the gate."""
    if not overshoot:
        return cotangent * gate * (1 - gate)
    slope = (gate + overshoot) * (1 + overshoot - gate) / (1 + 2 * overshoot)
    return jnp.where((gate > 0) & (gate < 1), cotangent * slope, 0.0)

"""Sigmoid gates with optional overshoot, so that they can be exactly 0 or 1."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


def opened(raw: Float[Array, "*any"], overshoot: float = 0.0) -> Float[Array, "*any"]:
    """How far a gate is open: a sigmoid, stretched by the overshoot at both ends and cut off at 0 and 1.

    A sigmoid never quite closes. What leaks through a head's gates pulls it off its line a little at every step, and
    the pull grows with the distance: harmless on short problems, fatal on long ones (docs/robust-recipe.md). What leaks
    through a controller's gates wears away what a cell was to keep (docs/exact.md).
    """
    gate = jax.nn.sigmoid(raw)
    if not overshoot:
        return gate
    gate = (1 + 2 * overshoot) * gate - overshoot
    return jnp.where(gate < 0, 0.0, jnp.where(gate > 1, 1.0, gate))


def pull_gate(
    cotangent: Float[Array, "*any"], gate: Float[Array, "*any"], overshoot: float = 0.0
) -> Float[Array, "*any"]:
    """The cotangent of what `opened` was given, from that of the gate and from its value."""
    if not overshoot:
        return cotangent * gate * (1 - gate)
    slope = (gate + overshoot) * (1 + overshoot - gate) / (1 + 2 * overshoot)
    return jnp.where((gate > 0) & (gate < 1), cotangent * slope, 0.0)

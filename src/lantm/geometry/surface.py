"""Shared isometry arithmetic of the surfaces of constant curvature: sphere, plane and hyperbolic plane.

Every isometry without reflection is a matrix of two complex numbers,

    (    alpha        beta     )        |alpha|^2 + curvature |beta|^2 = 1,
    ( -c conj(beta)  conj(alpha))       c the sign of the curvature: 1, 0 or -1,

which are the unit quaternions for the sphere, the rigid motions for the plane (with half the angle in alpha), and SU(1,
1) for the disk. A matrix and its negative are the same isometry. beta is a shift, and the angle of alpha is a turn
about the base point, which is the key of raw outputs 0.
"""

import abc

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from lantm.errors import LantmError
from lantm.geometry.base import Action, Gate, Geometry, RawAction
from lantm.geometry.complex_numbers import Complex, conjugate, multiply, squared_modulus
from lantm.geometry.euclidean import interpolate

# Shifts are clipped to this, in units of the diameter; it covers all keys of a disk in float32.
FARTHEST = 1e6
# Squared length below which a shift has no direction.
_NO_DIRECTION = 1e-4


class SurfaceGeometry(Geometry):
    """A surface of constant curvature under its isometries without reflections.

    The machine normalises raw actions to a length of about 1, and on a curved surface the scale of a step matters: an
    arc of length 1 on the unit sphere is a sixth of a great circle. A surface therefore has a `radius` of many steps.
    Raw actions of length 1 then move a key by about 1 near the base point, as in the plane, or turn the surface by 1 /
    radius. With the default of 64, the steps of the longest training problems add up to one radius, and problems four
    times as long do not go around the sphere.
    """

    radius: eqx.AbstractVar[float]

    @property
    def action_size(self) -> int:
        """Two complex numbers."""
        return 4

    @property
    def raw_action_size(self) -> int:
        """A shift, to the right and up, and a turn."""
        return 3

    @property
    def isometric(self) -> bool:
        """True: actions are isometries."""
        return True

    @property
    @abc.abstractmethod
    def curvature(self) -> int:
        """The sign of the curvature."""

    def action(self, raw: RawAction) -> Action:
        """A turn by about 1 / radius times the third raw output, and a shift in the direction of the first two.

        The length of the shift is the norm of all three outputs: raw actions normalised to length 1 are steps of length
        1, whether they turn or not. Otherwise machines learn to spend their step on turning in place. The negative raw
        outputs give the inverse.
        """
        half_turn = raw[..., 2:] / (2 * self.radius)
        across = squared_modulus(raw[..., :2])
        onward = jnp.sqrt((across + raw[..., 2:] ** 2 + _NO_DIRECTION) / (across + _NO_DIRECTION))
        shift, stretch = self.shift(raw[..., :2] * onward)
        turned = jnp.concatenate([stretch, stretch * half_turn], axis=-1) / jnp.sqrt(1 + half_turn**2)
        return jnp.concatenate([turned, shift], axis=-1)

    def shift(self, raw: Float[Array, "*#batch 2"]) -> tuple[Complex, Float[Array, "*#batch 1"]]:
        """beta, and the real alpha, of a shift without a turn."""
        if self.curvature == 0:
            return raw, jnp.ones_like(raw[..., :1])
        beta = half_radii(raw, self.radius)
        stretch = jnp.sqrt(1 + squared_modulus(beta))
        return (beta / stretch, 1 / stretch) if self.curvature > 0 else (beta, stretch)

    def identity(self) -> Float[Array, "action"]:
        """The identity matrix."""
        return jnp.array([1.0, 0.0, 0.0, 0.0])

    def compose(self, second: Action, first: Action) -> Action:
        """The product of the matrices."""
        (a, b), (c, d) = halves(second), halves(first)
        alpha = multiply(a, c) - self.curvature * multiply(b, conjugate(d))
        return jnp.concatenate([alpha, multiply(a, d) + multiply(b, conjugate(c))], axis=-1)

    def inverse(self, action: Action) -> Action:
        """The inverse of the matrix."""
        alpha, beta = halves(action)
        return jnp.concatenate([conjugate(alpha), -beta], axis=-1)

    def mix_actions(self, gate: Gate, candidate: Action, previous: Action) -> Action:
        """Linear interpolation of the matrices, normalised to determinant 1.

        Of the candidate and its negative, which are the same action, the one closer to `previous` is used. The result
        lies on the curve of the paper's interpolation by the exponential map, at a different speed.
        """
        s = self._determinant(candidate - previous) / 4  # sin^2 of half the angle between them
        opposite = s > 0.5
        candidate = jnp.where(opposite, -candidate, candidate)
        s = jnp.where(opposite, 1 - s, s)
        mixed = interpolate(gate, candidate, previous)
        # Divided by the root of the mixture's determinant, which is at least a half.
        return self._renormalised(mixed / jnp.sqrt(1 - 4 * gate * (1 - gate) * s))

    def _determinant(self, action: Action) -> Float[Array, "*#batch 1"]:
        alpha, beta = halves(action)
        return squared_modulus(alpha) + self.curvature * squared_modulus(beta)

    def _renormalised(self, action: Action) -> Action:
        """The action normalised to determinant 1, so that rounding does not accumulate."""
        alpha, beta = halves(action)
        if self.curvature > 0:
            return action / jnp.sqrt(self._determinant(action))
        # Not by the determinant, which suffers from cancellation for long shifts in the disk.
        length = jnp.sqrt((1 - self.curvature * squared_modulus(beta)) / squared_modulus(alpha))
        return jnp.concatenate([alpha * length, beta], axis=-1)


def check_radius(geometry: str, radius: float) -> None:
    """Raises a `LantmError` unless the radius is between 0.001 and 1e6."""
    if not 1e-3 <= radius <= 1e6:
        raise LantmError(f"the geometry {geometry!r} cannot have the radius {radius}: give a number from 0.001 to 1e6")


def halves(action: Float[Array, "*#batch 4"]) -> tuple[Complex, Complex]:
    """The two complex numbers alpha and beta."""
    return action[..., :2], action[..., 2:]


def half_radii(raw: Float[Array, "*#batch size"], radius: float) -> Float[Array, "*#batch size"]:
    """A shift in units of the diameter, clipped so that its square is finite."""
    return jnp.clip(raw / (2 * radius), -FARTHEST, FARTHEST)

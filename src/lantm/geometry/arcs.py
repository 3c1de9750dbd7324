"""Arcs of great circles and their hyperbolic kin: how long one is, and how to go a share of its way.

An arc is known here by s = sin^2(angle / 2), or sinh^2(length / 2), which two points give without rounding away how
near they are. All functions are smooth at s = 0, where both ends are one, since they depend on the square of the angle.
"""

from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from lantm.geometry.elementwise import elementwise

Number: TypeAlias = Float[Array, "*#batch"]

# Beside an angle and its sine, this makes their ratio 1 where both vanish, and changes no other.
_TINY = 1e-30
# Up to this square, pi^2 and a bit, so many terms of the cardinal sine are as exact as double precision.
_SERIES_UP_TO = 9.9
_TERMS = 13


@jax.custom_jvp
def squared_length(s: Number) -> Number:
    """The square of the hyperbolic length d with sinh^2(d / 2) = s.

    >>> print(squared_length(jnp.sinh(jnp.array([0.0, 1.5])) ** 2))
    [0. 9.]
    """
    return jnp.log1p(2 * (s + jnp.sqrt(s * (1 + s)))) ** 2


@squared_length.defjvp
def _squared_length_jvp(primals: Any, tangents: Any) -> tuple[Array, Array]:
    # Written out, because the slope of the root is infinite at 0, where that of the square is 4.
    (s,), (change,) = primals, tangents
    root = jnp.sqrt(s * (1 + s))
    length = jnp.log1p(2 * (s + root))
    return length**2, 4 * (length + _TINY) / (2 * root + _TINY) * change


squared_length = elementwise(squared_length)


@jax.custom_jvp
def squared_angle(s: Number) -> Number:
    """The square of the angle a with sin^2(a / 2) = s, for 0 <= s < 1: beyond 1 angles come back.

    >>> print(squared_angle(jnp.sin(jnp.array([0.0, 1.5])) ** 2))
    [0. 9.]
    """
    return 4 * jnp.arctan2(jnp.sqrt(s), jnp.sqrt(1 - s)) ** 2


@squared_angle.defjvp
def _squared_angle_jvp(primals: Any, tangents: Any) -> tuple[Array, Array]:
    (s,), (change,) = primals, tangents
    angle = 2 * jnp.arctan2(jnp.sqrt(s), jnp.sqrt(1 - s))
    return angle**2, 4 * (angle + _TINY) / (2 * jnp.sqrt(s * (1 - s)) + _TINY) * change


squared_angle = elementwise(squared_angle)


def cardinal_sine(square: Number) -> Number:
    """sin(a) / a as a function of a^2, and sinh(d) / d of -d^2: a series, for squares up to pi^2.

    >>> [round(float(value), 4) for value in cardinal_sine(jnp.array([0.0, 1.0, -1.0]))]
    [1.0, 0.8415, 1.1752]
    """
    series = jnp.ones_like(square)
    for term in range(_TERMS, 0, -1):
        series = 1 - square * series / (2 * term * (2 * term + 1))
    return series


class Weights(NamedTuple):
    """What a point between two others is made of."""

    candidate: Number
    previous: Number


def arc_weights(gate: Number, s: Number) -> Weights:
    """The weights of both ends in the point that lies the share `gate` of the way along an arc; s is below 1.

    On a unit sphere that point is sin(gate a) / sin(a) of one end and sin((1 - gate) a) / sin(a) of the other. The
    same weights mix unit quaternions and other matrices of determinant 1.

    >>> quarter_circle = jnp.array(0.5)
    >>> round(float(arc_weights(jnp.array(0.5), quarter_circle).candidate), 4)
    0.7071
    """
    return _short(gate, squared_angle(s))


def hyperbolic_weights(gate: Number, s: Number) -> Weights:
    """The same on a hyperboloid: sinh(gate d) / sinh(d) and sinh((1 - gate) d) / sinh(d), s = sinh^2(d / 2).

    >>> print(hyperbolic_weights(jnp.array(0.25), jnp.array(0.0)).candidate)
    0.25
    """
    return _of_any_length(gate, -squared_length(s))


def weights_between(gate: Number, s: Number) -> Weights:
    """The same for arcs, where s is positive, and for hyperbolic ways, of which s is the negative.

    >>> weights = weights_between(jnp.array(0.5), jnp.array([0.5, 0.0, -0.5]))
    >>> [round(float(weight), 4) for weight in weights.candidate]
    [0.7071, 0.5, 0.4082]
    """
    return _of_any_length(gate, jnp.where(s > 0, squared_angle(jnp.maximum(s, 0)), -squared_length(jnp.maximum(-s, 0))))


def _short(gate: Number, square: Number) -> Weights:
    per_length = 1 / cardinal_sine(square)
    rest = 1 - gate
    return Weights(
        gate * cardinal_sine(gate**2 * square) * per_length, rest * cardinal_sine(rest**2 * square) * per_length
    )


def _of_any_length(gate: Number, square: Number) -> Weights:
    long = -square > _SERIES_UP_TO
    # No branch sees what it cannot compute or differentiate.
    short = _short(gate, jnp.where(long, 0.0, square))
    length = jnp.sqrt(jnp.where(long, -square, 1.0))
    to_candidate, to_previous = jnp.exp(-gate * length), jnp.exp((gate - 1) * length)
    scale = 1 / (1 - (to_candidate * to_previous) ** 2)
    return Weights(
        jnp.where(long, to_previous * (1 - to_candidate**2) * scale, short.candidate),
        jnp.where(long, to_candidate * (1 - to_previous**2) * scale, short.previous),
    )

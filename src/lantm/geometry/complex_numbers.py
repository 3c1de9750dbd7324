"""Arithmetic of complex numbers stored as real pairs (a, b), used by the groups that rotate the plane.

Real pairs, not JAX's complex dtype, since keys are real arrays in every geometry.
"""

from typing import TypeAlias

import jax.numpy as jnp
from jaxtyping import Array, Float

Complex: TypeAlias = Float[Array, "*#batch 2"]


def multiply(left: Complex, right: Complex) -> Complex:
    """The product, which is the matrix ((a, -b), (b, a)) of `left` applied to the vector `right`.

    >>> print(multiply(jnp.array([0.0, 1.0]), jnp.array([3.0, 4.0])))
    [-4.  3.]
    """
    a, b = left[..., 0], left[..., 1]
    x, y = right[..., 0], right[..., 1]
    return jnp.stack([a * x - b * y, a * y + b * x], axis=-1)


def conjugate(number: Complex) -> Complex:
    """The complex conjugate.

    >>> print(conjugate(jnp.array([3.0, 4.0])))
    [ 3. -4.]
    """
    return jnp.stack([number[..., 0], -number[..., 1]], axis=-1)


def squared_modulus(number: Complex) -> Float[Array, "*#batch 1"]:
    """The squared modulus, with a last axis of length 1 so that it broadcasts against complex numbers.

    >>> print(squared_modulus(jnp.array([3.0, 4.0])))
    [25.]
    """
    return number[..., :1] ** 2 + number[..., 1:] ** 2

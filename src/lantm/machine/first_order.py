"""Raises an error where the hand-written gradients of a machine would be differentiated a second time."""

from typing import Any

import jax
from jaxtyping import Array

from lantm.errors import LantmError


@jax.custom_jvp
def first_order_only(value: Array) -> Array:
    """The value itself; differentiating it raises an error. Used inside hand-written backward passes."""
    return value


@first_order_only.defjvp
def _differentiated_again(_: Any, __: Any) -> Any:
    # Without this, JAX would differentiate the loops themselves, and run out of memory or fail inside them.
    raise LantmError("a machine's gradient cannot be differentiated again: use the backend 'scan', which is slower")

"""Functions whose gradients are written by hand: a gradient of their gradients is refused, with a remedy."""

from typing import Any

import jax
from jaxtyping import Array

from lantm.errors import LantmError


@jax.custom_jvp
def once(value: Array) -> Array:
    """The value itself; that it is differentiated here means that a gradient is differentiated again."""
    return value


@once.defjvp
def _twice(_: Any, __: Any) -> Any:
    # Without this, JAX would differentiate the loops themselves, and fill the memory or fail in their middle.
    raise LantmError("a machine's gradient cannot be differentiated again: use the backend 'scan', which is slower")

"""Output shapes of a function by `jax.eval_shape`, without computing anything; impossible sizes raise `LantmError`."""

import warnings
from collections.abc import Callable
from typing import Any

import jax

from lantm.errors import LantmError


def shapes_of(function: Callable[..., Any], *arguments: Any) -> Any:
    """The result of a function with `jax.ShapeDtypeStruct` leaves; impossible sizes raise a `LantmError`.

    >>> import jax.numpy as jnp
    >>> shapes_of(lambda: jnp.zeros((50, 7))).shape
    (50, 7)
    """
    try:
        with warnings.catch_warnings():
            # JAX uses 32-bit sizes, and warns at length about larger ones.
            warnings.filterwarnings("error", "Explicitly requested dtype", UserWarning)
            return jax.eval_shape(function, *arguments)
    except (OverflowError, TypeError, UserWarning) as error:
        if isinstance(error, TypeError) and "must have every element be an integer type" not in str(error):
            raise  # unrelated to sizes
        raise LantmError("no computer has memory for a machine of these sizes: lower --cells and the like") from error

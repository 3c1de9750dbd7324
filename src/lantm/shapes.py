"""Output shapes of a function by `jax.eval_shape`, without computing anything; impossible sizes raise `LantmError`."""

import warnings
from collections.abc import Callable
from typing import Any

import jax

from lantm.errors import LantmError


def shapes_of(function: Callable[..., Any], *arguments: Any) -> Any:
    """The result of a function with shapes in the place of arrays; sizes that no array can have are a `LantmError`.

    >>> import jax.numpy as jnp
    >>> shapes_of(lambda: jnp.zeros((50, 7))).shape
    (50, 7)
    """
    try:
        with warnings.catch_warnings():
            # JAX counts with 32 bits, and says so at length where a size has more.
            warnings.filterwarnings("error", "Explicitly requested dtype", UserWarning)
            return jax.eval_shape(function, *arguments)
    except (OverflowError, TypeError, UserWarning) as error:
        if isinstance(error, TypeError) and "must have every element be an integer type" not in str(error):
            raise  # it is not of a size with more than 64 bits
        raise LantmError("no computer has memory for a machine of these sizes: lower --cells and the like") from error

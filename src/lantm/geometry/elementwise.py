"""Functions that act on every number of an array by itself, and are known by their names.

The GPU kernels take a geometry's formulas apart, down to single numbers (`lantm.machine.kernel.coordinates`). What has
a derivative of its own would lose it on the way; marked here, it is taken as a whole.
"""

from collections.abc import Callable
from typing import Any

import jax

ELEMENTWISE: dict[str, Callable[..., Any]] = {"softplus": jax.nn.softplus}


def elementwise(function: Any) -> Any:
    """Marks a function of numbers."""
    ELEMENTWISE[function.__name__] = function
    return jax.jit(function)

"""A registry of elementwise functions that the GPU kernels must not take apart.

The kernels split a geometry's formulas into operations on scalars (`lantm.machine.kernel.coordinates`). A function with
a custom derivative would lose it that way; registered here, it is applied as a whole.
"""

from collections.abc import Callable
from typing import Any

import jax

ELEMENTWISE: dict[str, Callable[..., Any]] = {"softplus": jax.nn.softplus}


def elementwise(function: Any) -> Any:
    """Registers an elementwise function by its name, and compiles it."""
    ELEMENTWISE[function.__name__] = function
    return jax.jit(function)

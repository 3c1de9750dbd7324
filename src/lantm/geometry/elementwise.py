"""`elementwise`: a decorator for functions with a custom derivative, which the GPU kernels must apply as one operation.

The kernels split a geometry's formulas into operations on scalars (`lantm.machine.kernel.coordinates`), which would
lose the custom derivative. Registered functions are applied as a whole.
"""

from collections.abc import Callable
from typing import Any

import jax

ELEMENTWISE: dict[str, Callable[..., Any]] = {"softplus": jax.nn.softplus}


def elementwise(function: Any) -> Any:
    """Registers an elementwise function by its name, and compiles it."""
    ELEMENTWISE[function.__name__] = function
    return jax.jit(function)

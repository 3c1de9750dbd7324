"""Geometries whose methods are compiled."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from lantm.geometry import Geometry


class Compiled:
    """A geometry whose methods are compiled: law after law asks for the same shapes.

    Their results are NumPy's, unless they are traced: what a test does with them compiles nothing more.
    """

    def __init__(self, plain: Geometry):
        self.plain = plain
        actions = ("identity", "action", "compose", "inverse", "mix_actions")
        for name in (*actions, "key", "act", "mix_keys", "squared_distance"):
            setattr(self, name, as_numpy(jax.jit(getattr(plain, name))))

    def __getattr__(self, name: str) -> object:
        return getattr(self.plain, name)


def as_numpy(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*arguments: Any) -> Any:
        result = function(*arguments)
        return result if isinstance(result, jax.core.Tracer) else np.asarray(result)

    return call

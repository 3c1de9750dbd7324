"""Geometries whose methods are compiled."""

import jax

from lantm.geometry import Geometry


class Compiled:
    """A geometry whose methods are compiled: law after law asks for the same shapes."""

    def __init__(self, plain: Geometry):
        self.plain = plain
        self.identity = plain.identity
        for name in ("key", "action", "act", "compose", "inverse", "mix_actions", "mix_keys", "squared_distance"):
            setattr(self, name, jax.jit(getattr(plain, name)))

    def __getattr__(self, name: str) -> object:
        return getattr(self.plain, name)

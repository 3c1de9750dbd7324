"""How heads move inside a kernel: what `lantm.machine.access` says, coordinate by coordinate."""

import dataclasses
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from lantm.machine.access import Access, Position
from lantm.machine.kernel.coordinates import Numbers, by_coordinates


class Moved(NamedTuple):
    """Where the heads have moved, and what else was emitted; every number an array."""

    keys: list[list[Array]]
    actions: list[list[Array]]
    strengths: list[Array]
    temperatures: list[Array]


def small(values: Any, *shape: int) -> Numbers:
    """Nested lists of large arrays, of this shape, as a small array."""
    found = np.empty(shape, object)
    for at in np.ndindex(*shape):
        item = values
        for i in at:
            item = item[i]
        found[at] = item
    return found


def move(access: Access, emitted: list[Array], keys: list[list[Array]], actions: list[list[Array]]) -> Moved:
    """`Access.understand` and `Access.move`, without the vectors that are written."""
    geometry, heads = access.geometry, access.heads
    scalars = dataclasses.replace(access, memory_width=0)

    def moved(emitted: Array, keys: Array, actions: Array) -> Any:
        emission = scalars.understand(emitted)
        position = scalars.move(emission, Position(keys, actions))
        return *position, emission.strengths, emission.temperatures

    before = small(keys, heads, geometry.key_size), small(actions, heads, geometry.action_size)
    keys_, actions_, strengths, temperatures = by_coordinates(moved, small(emitted, len(emitted)), *before)
    warmth = [] if temperatures is None else temperatures.tolist()
    return Moved(keys_.tolist(), actions_.tolist(), strengths.tolist(), warmth)


def squared_distances(access: Access, key: list[Array], addresses: list[Array]) -> Array:
    """From a read key, a number for every problem, to all its memories."""
    size = access.geometry.key_size
    key = [coordinate[:, None] for coordinate in key]
    distances = by_coordinates(access.geometry.squared_distance, small(key, size), small(addresses, size))
    return jnp.broadcast_to(distances.item(), addresses[0].shape)

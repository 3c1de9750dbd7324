"""The JAX functions of scalars that kernels need (head steps, read weights, gates, their derivatives), and their C
code.

Every head has a separate function, which takes the part of the emission for that head.
"""

import dataclasses
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from lantm.machine.access import Access, Position
from lantm.machine.controller import CellKind
from lantm.machine.gates import opened, pull_gate
from lantm.machine.kernel.coordinates import Numbers, by_coordinates, numbers
from lantm.machine.kernel.formulas import c_function
from lantm.machine.state import Machinery
from lantm.machine.weighting import Weighting


def starts(access: Access) -> dict[str, int]:
    """The index at which each part of an emission begins."""
    found, end = {}, 0
    for name, size in access.sizes.items():
        found[name], end = end, end + size
    return found


def columns(access: Access, head: int) -> list[int]:
    """The indices of an emission for a head: raw key, key gate, raw action, action gate, and one more.

    The last one is the strength of a write head, or the temperature of a read head, if it has one.
    """
    begin = starts(access)
    key, action = access.geometry.raw_key_size, access.geometry.raw_action_size
    found = [
        *range(begin["keys"] + head * key, begin["keys"] + (head + 1) * key),
        begin["key_gates"] + head,
        *range(begin["actions"] + head * action, begin["actions"] + (head + 1) * action),
        begin["action_gates"] + head,
    ]
    if head >= access.read_heads:
        return [*found, begin["strengths"] + head - access.read_heads]
    return [*found, begin["temperatures"] + head] if access.weighting.emits_temperature else found


def move(
    access: Access, head: int, emitted: list[Array], key: list[Array], action: list[Array]
) -> tuple[list[Array], list[Array], Array]:
    """`Access.understand` and `Access.move` of one head: its key and action, and its strength or temperature."""
    scalars = dataclasses.replace(access, memory_width=0)
    own = dict(zip(columns(scalars, head), emitted, strict=True))
    # The other heads' numbers are zeros; their results are left out when the function is printed.
    zero = jnp.zeros_like(emitted[0])
    full = numbers(*(own.get(at, zero) for at in range(scalars.emission_size)))
    keys, actions = (
        _of_heads(access.heads, head, part, size, zero)
        for part, size in ((key, access.geometry.key_size), (action, access.geometry.action_size))
    )

    def all_heads(emitted: Array, keys: Array, actions: Array) -> Any:
        emission = scalars.understand(emitted)
        return *scalars.move(emission, Position(keys, actions)), emission.strengths, emission.temperatures

    new_keys, new_actions, strengths, temperatures = by_coordinates(all_heads, full, keys, actions)
    if head >= access.read_heads:
        extra = strengths[head - access.read_heads]
    else:
        extra = zero if temperatures is None else temperatures[head]
    return new_keys[head].tolist(), new_actions[head].tolist(), extra


def _of_heads(heads: int, head: int, own: list[Array], size: int, zero: Array) -> Numbers:
    found = np.full((heads, size), None, object)
    for at in np.ndindex(found.shape):
        found[at] = own[at[1]] if at[0] == head else zero
    return found


def squared_distance(access: Access, key: list[Array], address: list[Array]) -> Array:
    """The squared distance from a key to the address of a memory."""
    found: Array = by_coordinates(access.geometry.squared_distance, numbers(*key), numbers(*address)).item()
    return found


# The rules of a weighting are for rows of memories; here each memory is a row of one.


def _counted(weighting: Weighting, distance: Any, strength: Any, temperature: Any, nearest: Any) -> Any:
    def counted(distance: Array, strength: Array, temperature: Array, nearest: Array) -> Any:
        warmth = temperature[0] if weighting.emits_temperature else None
        affinities = weighting.affinities(distance, warmth, nearest)
        return weighting.counted(affinities, strength)

    found = by_coordinates(counted, *(numbers(one) for one in (distance, strength, temperature, nearest)))
    return [one.item() for one in found]


def _pulled(weighting: Weighting, *given: Any) -> Any:
    def pulled(
        distance: Array, strength: Array, temperature: Array, nearest: Array, total: Array, gains: Array, gain: Array
    ) -> Any:
        warmth, visible = temperature[0] if weighting.emits_temperature else None, jnp.ones(1, bool)
        shared = weighting.shared(weighting.affinities(distance, warmth, nearest), strength, total)
        d_distance, d_strength, d_warmth = weighting.pull_back(shared, gains, gain, distance, visible, warmth, nearest)
        return shared.weights, d_distance, d_strength, jnp.zeros(()) if d_warmth is None else d_warmth

    return [one.item() for one in by_coordinates(pulled, *(numbers(one) for one in given))]


def _of_rows(function: Callable[..., Array]) -> Callable[..., Array]:
    """A function of rows as a function of scalars."""
    return lambda *numbers: function(*(number.reshape(1) for number in numbers)).reshape(())


def _pull(function: Callable[..., Any], inputs: int) -> Callable[..., Any]:
    """The vjp of a function: from its inputs and the cotangents of its results to the cotangents of its inputs."""

    def pull(*arguments: Any) -> Any:
        results = arguments[inputs:]
        return jax.vjp(function, *arguments[:inputs])[1](results[0] if len(results) == 1 else tuple(results))

    return pull


def formulas(machinery: Machinery, dtype: Any) -> Iterator[str]:
    """The C functions that the kernels call, for this machine."""
    access, cell = machinery.access, machinery.cell
    key, action = access.geometry.key_size, access.geometry.action_size
    weighting = access.weighting

    def printed(name: str, function: Callable[..., Any], arguments: Any, results: Any) -> str:
        return c_function(name, function, arguments, results, dtype)

    for head in range(access.heads):
        size = len(columns(access, head))
        given = [("emitted", size), ("key", key), ("action", action)]
        moved = [("new_key", key), ("new_action", action), ("extra", None)]
        cotangents = [("d_key", key), ("d_action", action), ("d_extra", None)]
        one = partial(move, access, head)
        yield printed(f"move_{head}", one, given, moved)
        pulled = [("d_emitted", size), ("d_old_key", key), ("d_old_action", action)]
        yield printed(f"pull_move_{head}", _pull(one, 3), [*given, *cotangents], pulled)
    points = [("key", key), ("address", key)]
    yield printed("squared_distance", partial(squared_distance, access), points, [("distance", None)])
    yield printed(
        "pull_distance",
        _pull(partial(squared_distance, access), 2),
        [*points, ("d_distance", None)],
        [("d_key", key), ("d_address", key)],
    )
    read = [(name, None) for name in ("distance", "strength", "temperature", "nearest")]
    yield printed("count", partial(_counted, weighting), read, [("counted", None), ("weight", None)])
    yield printed(
        "pull_weight",
        partial(_pulled, weighting),
        [*read, ("total", None), ("gains", None), ("gain", None)],
        [(name, None) for name in ("weight", "d_distance", "d_strength", "d_temperature")],
    )
    if weighting.emits_temperature:  # the same as in `Access.understand`
        yield printed("temperature", jax.nn.softplus, [("x", None)], [("y", None)])
    squash = _of_rows(access.squash)
    yield printed("squash", squash, [("x", None)], [("y", None)])
    yield printed("pull_squash", _pull(squash, 1), [("x", None), ("d_y", None)], [("d_x", None)])
    yield from _of_the_cell(cell, printed)


def _of_the_cell(cell: CellKind, printed: Callable[..., str]) -> Iterator[str]:
    def of_rows(name: str, function: Callable[..., Array], *arguments: str) -> str:
        return printed(name, _of_rows(function), [(argument, None) for argument in arguments], [("y", None)])

    yield of_rows("open_gate", lambda x: opened(x, cell.overshoot), "x")
    yield of_rows("pull_gate", lambda cotangent, gate: pull_gate(cotangent, gate, cell.overshoot), "cotangent", "gate")
    yield of_rows("keep_cell", lambda x: cell.settled(cell.bounded(x)), "x")
    yield of_rows("pull_cell", cell.pull, "cotangent", "x")

"""Projection of key spaces to the plane, for drawing.

A one-dimensional key space is drawn over time, a two-dimensional one as its plane, one with a rim (a disk, a map of a
sphere) inside that rim. Higher dimensions are projected onto the two principal directions of the keys. To draw your own
geometry differently, register a function for its class: `projection.register(Helix)`.
"""

import dataclasses
from collections.abc import Callable
from functools import singledispatch

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from lantm.geometry import Disk, Geometry, Rotation, ScalingRotation, Sphere

Keys = Float[np.ndarray, "points key"]
Times = Float[np.ndarray, " points"]
Points = Float[np.ndarray, "points 2"]


@dataclasses.dataclass(frozen=True)
class Projection:
    """A way to draw keys in a plane."""

    place: Callable[[Keys, Times], Points]
    """Maps keys and their steps to points of the plane; nan if there is none."""
    labels: tuple[str, str] = ("", "")
    """The labels of the axes."""
    equal: bool = True
    """Whether both axes have the same scale."""
    outline: tuple[Float[np.ndarray, "_ 2"], ...] = ()
    """Further lines: the rim of a disk, the grid of a sphere. The first is drawn stronger."""
    bounded: bool = False
    """Whether the first line of the outline bounds the whole space; an overview then shows all of it."""
    note: str = ""
    """A note for the reader of the plot."""


@singledispatch
def projection(geometry: Geometry, keys: Keys) -> Projection:
    """The projection for a plot of these `keys`."""
    if geometry.rim is not None:
        shadow = f"{geometry.raw_key_size} dimensions, their shadow on the first two"
        return _within(geometry, "" if geometry.raw_key_size == 2 else shadow)
    if geometry.key_size == 1:
        return Projection(lambda keys, times: np.stack([times, keys[:, 0]], axis=-1), ("step", "key"), equal=False)
    if geometry.key_size == 2:
        return Projection(lambda keys, times: keys)
    return _widest(keys, geometry.key_size)


@projection.register
def _(geometry: Disk, keys: Keys) -> Projection:
    return _within(geometry, "the Poincare disk: steps of one length look shorter towards its rim")


@projection.register
def _(geometry: Sphere, keys: Keys) -> Projection:
    """The whole sphere as a map, with parallels and meridians every 30 degrees."""
    around = np.linspace(0, 2 * np.pi, 121)
    down = np.linspace(0, 0.999 * np.pi, 31)
    net = [(np.full_like(around, angle), around) for angle in np.arange(1, 6) * np.pi / 6]
    net += [(down, np.full_like(down, angle)) for angle in np.arange(12) * np.pi / 6]
    flat = _within(geometry, "a map of the whole sphere: its rim is one point, opposite the middle")
    lines = [
        np.stack([np.sin(polar) * np.cos(east), np.sin(polar) * np.sin(east), np.cos(polar)], axis=-1)
        for polar, east in net
    ]
    drawn = [flat.place(geometry.radius * line, np.zeros(len(line))) for line in lines]
    return dataclasses.replace(flat, outline=(*flat.outline, *drawn))


@projection.register
def _(geometry: Rotation | ScalingRotation, keys: Keys) -> Projection:
    cross = 0.03 * np.nanmax(np.abs(keys), initial=0.0)
    arms = np.array([[[-cross, 0.0], [cross, 0.0]], [[0.0, -cross], [0.0, cross]]])
    return Projection(lambda keys, times: keys, outline=tuple(arms), note="the cross is the origin, the fixed point")


def _within(geometry: Geometry, note: str) -> Projection:
    """A space whose plane coordinates lie inside a circle."""
    assert geometry.rim is not None
    return Projection(
        lambda keys, times: np.asarray(geometry.plane_coordinates(jnp.asarray(keys))),
        outline=(circle(geometry.rim),),
        bounded=True,
        note=note,
    )


def circle(radius: float) -> Points:
    """The circle around the origin, as a line."""
    angle = np.linspace(0, 2 * np.pi, 181)
    return radius * np.stack([np.cos(angle), np.sin(angle)], axis=-1)


def _widest(keys: Keys, size: int) -> Projection:
    """The two principal directions of the keys."""
    finite = keys[np.isfinite(keys).all(axis=-1)]
    middle = finite.mean(axis=0) if len(finite) else np.zeros(size)
    _, widths, directions = np.linalg.svd(finite - middle if len(finite) else np.zeros((1, size)), full_matrices=True)
    # The sign of a direction is arbitrary: its largest component is made positive, so that plots do not flip.
    axes = directions[:2] * np.sign(directions[:2][[0, 1], np.abs(directions[:2]).argmax(axis=1)])[:, None]
    total = np.sum(widths**2)
    share = 100 * np.sum(widths[:2] ** 2) / total if total else 100.0
    return Projection(
        lambda keys, times: (keys - middle) @ axes.T,
        ("first principal direction", "second"),
        note=f"{size} dimensions, seen along their two principal directions ({share:.0f}% of the spread)",
    )

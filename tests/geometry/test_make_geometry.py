"""Geometries by name, and as values: equal, hashable, static arguments of compiled functions."""

import pathlib

import jax
import jax.numpy as jnp
import pytest
from jaxtyping import Array

from lantm.errors import LantmError
from lantm.geometry import (
    GEOMETRIES,
    Disk,
    Geometry,
    Hyperbolic,
    RigidMotion,
    Rotation,
    ScalingRotation,
    Sphere,
    Translation,
    make_geometry,
)

CHECKOUT = pathlib.Path(__file__).parents[2]


def test_registered_names() -> None:
    assert {name: make_geometry(name) for name in GEOMETRIES} == {
        "translation": Translation(2),
        "rotation": Rotation(),
        "scaling-rotation": ScalingRotation(),
        "se2": RigidMotion(),
        "sphere": Sphere(),
        "disk": Disk(),
        "hyperbolic": Hyperbolic(),
    }


@pytest.mark.parametrize("dimension", [1, 2, 3, 64])
def test_translation_of_any_dimension(dimension: int) -> None:
    assert make_geometry(f"translation-{dimension}") == Translation(dimension)


@pytest.mark.parametrize(
    ("name", "geometry"),
    [
        ("hyperbolic-5", Hyperbolic(5)),
        ("hyperbolic-2[radius=8]", Hyperbolic(2, radius=8.0)),
        ("hyperbolic-2[]", Hyperbolic(2)),
        ("hyperbolic[radius=8,dimension=4]", Hyperbolic(4, radius=8.0)),
        ("rotation[]", Rotation()),
        ("se2[radius=1.5]", RigidMotion(1.5)),
        ("sphere[radius=16]", Sphere(16.0)),
        ("disk[radius=1]", Disk(1.0)),
    ],
)
def test_options(name: str, geometry: Geometry) -> None:
    assert make_geometry(name) == geometry
    assert hash(make_geometry(name)) == hash(geometry)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("translation-0", "dimension 1 or more, not 0"),
        ("translation-x", "give the dimension of the key space after 'translation-', as in 'translation-3'"),
        ("translation-", "give the dimension of the key space after 'translation-'"),
        ("translation--1", "give the dimension of the key space after 'translation-'"),
        ("translation-2.5", "give the dimension of the key space after 'translation-'"),
        ("rotatoin", "did you mean 'rotation'"),
        ("euclidean", "known are translation, rotation, scaling-rotation, se2, sphere, disk, hyperbolic"),
        ("hyperbolic-x", "give the dimension of the key space after 'hyperbolic-', as in 'hyperbolic-3'"),
        ("hyperbolic-1", "dimension 2 or more, not 1"),
        ("hyperbolic-257", "dimension 256 or less, not 257"),
        ("translation-99999999", "dimension 256 or less, not 99999999"),
        ("disk[radius=0]", "cannot have the radius 0: give a number from 0.001 to 1e6"),
        ("sphere[radius=wide]", "cannot have radius=wide: by default it is 64.0"),
        ("se2[curvature=1]", "cannot make the geometry 'se2' with the options"),
        ("translation-3[radius=2]", "cannot make the geometry 'translation'"),
        ("lantm.geometry:Rotor", "has no 'Rotor'"),
        ("no_such_module:Name", "cannot import the geometry"),
        ("lantm.errors:LantmError", "not a Geometry"),
    ],
)
def test_a_name_that_leads_nowhere_says_why(name: str, message: str) -> None:
    with pytest.raises(LantmError, match=message) as caught:
        make_geometry(name)
    assert "\n" not in str(caught.value)


def test_a_geometry_of_the_users_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(CHECKOUT)
    helix = make_geometry("examples.helix:Helix")
    assert type(helix).__name__ == "Helix"
    assert isinstance(helix, Geometry)
    assert (helix.key_size, helix.action_size) == (3, 2)


def test_an_unfinished_geometry_cannot_be_made() -> None:
    class Unfinished(Geometry):
        key_size = 2

    with pytest.raises(TypeError, match="abstract"):
        Unfinished()


def test_equal_by_value(geometry: Geometry) -> None:
    fields = {name: getattr(geometry, name) for name in geometry.__dataclass_fields__}
    same = type(geometry)(**fields)
    assert same == geometry
    assert hash(same) == hash(geometry)
    assert geometry != Translation(9)
    assert not jax.tree.leaves(geometry), "no arrays in a geometry"


def test_sizes_are_static(geometry: Geometry) -> None:
    for size in (geometry.key_size, geometry.action_size, geometry.raw_key_size, geometry.raw_action_size):
        assert type(size) is int
        assert size >= 1
    assert type(geometry.isometric) is bool


def test_a_static_argument_compiles_once_a_value() -> None:
    traced = []

    @jax.jit(static_argnums=0)
    def step(geometry: Geometry, raw: Array, key: Array) -> Array:
        traced.append(geometry)
        return geometry.act(geometry.action(raw), key)

    for geometry in (Translation(), Translation(2), Rotation(), Rotation(), ScalingRotation(), Translation()):
        step(geometry, jnp.ones(2), jnp.ones(2))
    assert traced == [Translation(), Rotation(), ScalingRotation()]

"""Annotations: the tests run with every call checked against them, and other packages may rely on them."""

import importlib.resources

import jax.numpy as jnp
import pytest
from jaxtyping import TypeCheckError

from lantm.geometry import Translation, interpolate
from lantm.tasks import make_task


def test_shapes_are_checked() -> None:
    with pytest.raises(TypeCheckError, match="size"):  # broadcasts, if nobody checks
        interpolate(jnp.ones(1), jnp.ones(1), jnp.ones(2))


def test_methods_are_checked() -> None:
    with pytest.raises(TypeCheckError, match="action"):
        Translation().act(jnp.ones(2, int), jnp.ones(2))


def test_plain_types_are_checked() -> None:
    with pytest.raises(TypeCheckError, match="name"):
        make_task(make_task("copy"))  # type: ignore[arg-type]


def test_other_packages_may_use_them() -> None:
    assert importlib.resources.files("lantm").joinpath("py.typed").is_file()

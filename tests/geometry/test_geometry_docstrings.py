"""The examples in the docstrings do what they say."""

import doctest
import importlib
import pathlib
import pkgutil

import pytest

import lantm.geometry

CHECKOUT = pathlib.Path(__file__).parents[2]
MODULES = [module.name for module in pkgutil.iter_modules(lantm.geometry.__path__, "lantm.geometry.")]


@pytest.mark.parametrize("module", ["lantm.geometry", *MODULES, "examples.helix"])
def test_docstrings(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(CHECKOUT)
    assert doctest.testmod(importlib.import_module(module)).failed == 0

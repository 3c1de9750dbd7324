"""The examples in the docstrings are true."""

import doctest
import importlib
import pathlib
import pkgutil

import pytest

import lantm

EXAMPLES = ["examples.helix", "examples.every_second", "examples.own_weighting"]
MODULES = [module.name for module in pkgutil.walk_packages(lantm.__path__, "lantm.") if "__main__" not in module.name]


@pytest.mark.parametrize("name", [*MODULES, *EXAMPLES])
def test_docstrings(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(pathlib.Path(__file__).parent.parent)
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_there_are_examples() -> None:
    found = [example for name in MODULES for example in doctest.DocTestFinder().find(importlib.import_module(name))]
    assert sum(bool(example.examples) for example in found) > 5

"""The direction of imports, and what no module may do."""

import ast
import pathlib

import pytest

import lantm

PACKAGE = pathlib.Path(lantm.__file__).parent
MODULES = {
    ".".join(("lantm", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__"): path
    for path in sorted(PACKAGE.rglob("*.py"))
}
TREES = {name: ast.parse(path.read_text()) for name, path in MODULES.items()}

# What each part may import besides itself; a part is a folder or a module directly below lantm.
ALLOWED = {
    "errors": set(),
    "registry": {"errors"},
    "batch": set(),
    "seeds": set(),
    "provenance": set(),
    "geometry": {"errors", "registry"},
    "tasks": {"batch", "errors", "registry"},
    "machine": {"batch", "errors", "registry", "geometry"},
    "evaluation": {"batch", "errors", "registry", "geometry", "machine", "tasks", "seeds"},
    "training": {"batch", "errors", "registry", "machine", "tasks", "seeds", "evaluation"},
    "language": {"errors", "machine", "seeds", "training"},
    "report": {"batch", "errors", "machine", "geometry", "tasks", "seeds", "evaluation", "training", "language"},
    "zoo": {"errors", "machine", "tasks", "seeds", "training"},
    "experiments": {
        *("errors", "machine", "tasks", "seeds", "evaluation", "training", "language"),
        *("provenance", "report", "zoo"),
    },
    "sweeps": {
        *("errors", "machine", "seeds", "evaluation", "training", "experiments"),
        *("provenance", "report"),
    },
}
ANYTHING = {"cli", "__main__"}


def imports(name: str) -> list[tuple[str, str | None]]:
    """The modules that a module imports, wherever in it, with the name that is taken from each."""
    found: list[tuple[str, str | None]] = []
    package = name if MODULES[name].name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(TREES[name]):
        if isinstance(node, ast.Import):
            found += [(alias.name, None) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package.split(".")[: len(package.split(".")) - node.level + 1]) if node.level else ""
            module = ".".join(filter(None, (base, node.module)))
            found += [(module, alias.name) for alias in node.names]
    return found


def source(module: str, taken: str | None) -> str:
    """The module that defines what is imported: `from lantm.training import train` is `lantm.training.loop`."""
    if taken is None or module not in MODULES:
        return module
    if f"{module}.{taken}" in MODULES:
        return f"{module}.{taken}"
    for origin, name in imports(module):
        if name == taken and origin.startswith("lantm"):
            return source(origin, taken)
    return module


def part(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def test_every_part_is_known() -> None:
    assert {part(name) for name in MODULES} - {""} == ALLOWED.keys() | ANYTHING


@pytest.mark.parametrize("name", MODULES)
def test_imports_point_one_way(name: str) -> None:
    own = part(name)
    if own in ANYTHING:
        return
    used = {part(source(module, taken)) for module, taken in imports(name) if module.split(".")[0] == "lantm"}
    used -= {own, ""}
    assert used <= ALLOWED.get(own, set()), f"{name} must not import {used - ALLOWED.get(own, set())}"


def test_a_report_never_trains() -> None:
    for name in MODULES:
        if part(name) == "report":
            used = {source(module, taken) for module, taken in imports(name)}
            trains = {
                f"lantm.{part}{module}" for part in ("training", "language") for module in ("", ".loop", ".learner")
            }
            assert not used & trains, name


def test_the_direction_is_seen_through_packages() -> None:
    """The test above can fail: names are followed to where they are defined."""
    assert source("lantm.training", "train") == "lantm.training.loop"
    assert source("lantm.training", "Experiment") == "lantm.training.experiment"
    assert source("lantm.tasks", "base") == "lantm.tasks.base"


@pytest.mark.parametrize("name", MODULES)
def test_nothing_is_unpickled_or_evaluated(name: str) -> None:
    for module, _ in imports(name):
        assert module.split(".")[0] not in {"pickle", "dill", "cloudpickle", "joblib", "shelve", "marshal", "torch"}
    for node in ast.walk(TREES[name]):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in {"eval", "exec", "compile", "__import__"}


@pytest.mark.parametrize("name", MODULES)
def test_every_module_says_what_it_is(name: str) -> None:
    assert ast.get_docstring(TREES[name])


@pytest.mark.parametrize("name", MODULES)
def test_what_a_module_says_it_has_is_there(name: str) -> None:
    for node in TREES[name].body:
        if isinstance(node, ast.Assign) and [getattr(target, "id", "") for target in node.targets] == ["__all__"]:
            listed = ast.literal_eval(node.value)
            module = __import__(name, fromlist=["x"])
            assert all(hasattr(module, one) for one in listed)
            assert len(set(listed)) == len(listed)

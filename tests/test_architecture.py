"""The direction of imports, and what no module may do."""

import ast
import importlib
import pathlib

import pytest

import lantm

PACKAGE = pathlib.Path(lantm.__file__).parent
MODULES = {
    ".".join(("lantm", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__"): path
    for path in sorted(PACKAGE.rglob("*.py"))
}
TREES = {name: ast.parse(path.read_text()) for name, path in MODULES.items()}

# What each part may import besides itself and no more; a part is a folder or a module directly below lantm. A part
# comes after all that it imports.
ALLOWED: dict[str, set[str]] = {
    "errors": set(),
    "interrupt": set(),
    "batch": set(),
    "randomness": set(),
    "devices": set(),
    "compiling": {"devices"},
    "shapes": {"errors"},
    "program_cache": set(),
    "files": {"errors"},
    "records": {"errors"},
    "locks": {"errors", "files", "records"},
    "provenance": {"records"},
    "registry": {"errors"},
    "weight_files": {"errors", "files"},
    "geometry": {"errors", "registry"},
    "tasks": {"batch", "compiling", "errors", "registry"},
    "machine": {"batch", "devices", "errors", "files", "geometry", "program_cache", "records", "registry"},
    "evaluation": {"batch", "compiling", "devices", "errors", "geometry", "machine", "randomness", "shapes", "tasks"},
    "training": {
        *(
            "batch",
            "compiling",
            "devices",
            "errors",
            "files",
            "interrupt",
            "locks",
            "provenance",
            "randomness",
            "records",
            "registry",
            "shapes",
        ),
        "weight_files",
        *("evaluation", "machine", "tasks"),
    },
    "trained": {
        *("batch", "compiling", "devices", "errors", "files", "provenance", "randomness", "records", "registry"),
        "weight_files",
        *("evaluation", "geometry", "machine", "tasks", "training"),
    },
    "report": {
        *("batch", "errors", "files", "randomness", "weight_files"),
        *("evaluation", "geometry", "machine", "tasks", "trained", "training"),
    },
    "paper": {"errors", "machine", "shapes", "tasks", "training"},
    "grids": {
        *("devices", "errors", "files", "interrupt", "locks", "provenance", "randomness", "records", "registry"),
        *("evaluation", "machine", "paper", "report", "tasks", "trained", "training"),
    },
    "checking": {"batch", "errors", "evaluation", "geometry", "machine", "registry", "tasks"},
    "library": {
        "checking",
        *("errors", "interrupt", "provenance"),
        *("geometry", "machine", "paper", "tasks", "trained", "training"),
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
    if taken in {getattr(node, "name", None) for node in TREES[module].body}:  # a function or a class of its own
        return module
    for origin, name in imports(module):
        if name == taken and origin.startswith("lantm"):
            return source(origin, taken)
    return module


def part(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def test_every_part_is_known() -> None:
    assert {part(name) for name in MODULES} - {""} == ALLOWED.keys() | ANYTHING


def used_parts(name: str) -> set[str]:
    """The parts that a module imports, besides its own."""
    used = {part(source(module, taken)) for module, taken in imports(name) if module.split(".")[0] == "lantm"}
    return used - {part(name), ""}


@pytest.mark.parametrize("name", MODULES)
def test_imports_are_those_that_are_allowed(name: str) -> None:
    own = part(name)
    if own in ANYTHING | {""}:
        return
    assert used_parts(name) <= ALLOWED[own], f"{name} must not import {used_parts(name) - ALLOWED[own]}"


def test_imports_point_one_way() -> None:
    """Every part imports only parts that come before it: there are no circles, however long."""
    before: set[str] = set()
    for own, allowed in ALLOWED.items():
        assert allowed <= before, f"{own} comes before {allowed - before}"
        before.add(own)


def test_nothing_is_allowed_that_is_not_needed() -> None:
    for own, allowed in ALLOWED.items():
        needed = set().union(*(used_parts(name) for name in MODULES if part(name) == own))
        assert allowed == needed, f"{own} need not import {allowed - needed}"


def test_a_report_never_trains() -> None:
    for name in MODULES:
        if part(name) == "report":
            used = {source(module, taken) for module, taken in imports(name)}
            trains = {f"lantm.training{module}" for module in ("", ".loop", ".learner")}
            assert not used & trains, name


def test_the_direction_is_seen_through_packages() -> None:
    """The test above can fail: names are followed to where they are defined."""
    assert source("lantm.training", "train") == "lantm.training.loop"
    assert source("lantm.training", "Experiment") == "lantm.training.experiment"
    assert source("lantm.tasks", "base") == "lantm.tasks.base"
    assert source("lantm", "train") == "lantm.library"
    assert source("lantm", "weight_files") == "lantm.weight_files"


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
    if not any(getattr(target, "id", "") == "__all__" for target in assigned(TREES[name])):
        return
    module = importlib.import_module(name)
    assert all(hasattr(module, one) for one in module.__all__)
    assert len(set(module.__all__)) == len(module.__all__)


def assigned(tree: ast.Module) -> list[ast.expr]:
    return [target for node in tree.body if isinstance(node, ast.Assign) for target in node.targets]


def test_type_checkers_see_the_names_that_there_are() -> None:
    """The package imports its names when they are used; the imports above that are for type checkers alone."""
    seen = {taken: module for module, taken in imports("lantm") if module.startswith("lantm.")}
    assert seen == lantm._MODULES

"""The pages in docs/: their links lead somewhere, their Python runs, their commands and files exist."""

import importlib
import json
import pathlib
import re
import sys
from typing import Any

import pytest

from lantm.cli import COMMANDS

ROOT = pathlib.Path(__file__).parent.parent
PAGES = sorted((ROOT / "docs").glob("*.md"))
NOTEBOOKS = sorted((ROOT / "docs" / "tutorials").glob("*.ipynb"))
MADE = ("play.html", "reference.md", "commands.md")  # by tools/site_builder.py


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: pathlib.Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)\)", page.read_text()):
        if not target.startswith("http") and target not in MADE:
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_exist(page: pathlib.Path) -> None:
    named = re.findall(r"(?:^ {4,}|`)lantm ([a-z]+)", page.read_text(), re.MULTILINE)
    assert set(named) <= set(COMMANDS)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_named_files_exist(page: pathlib.Path) -> None:
    """Files of the package are named from its folder (`machine/access.py`), others from the root."""
    for name in re.findall(r"`(\w+/[\w/]+\.(?:py|toml))`", page.read_text()):
        assert any((folder / name).exists() for folder in (ROOT, ROOT / "src/lantm")), name


# These train machines, or run them for long; tests of the library, of commands and of examples do the same.
LONG = (
    "library.md",
    "first-machine.ipynb",
    "exact-at-any-length.ipynb",
    "layer-in-a-network.ipynb",
    "seeds-and-sweeps.ipynb",
    "training-from-python.ipynb",
    "why-seeds-fail.ipynb",
    "your-own.ipynb",
)


def long_ones_are_thorough(paths: list[pathlib.Path]) -> list[Any]:
    return [pytest.param(path, marks=pytest.mark.thorough if path.name in LONG else ()) for path in paths]


@pytest.mark.parametrize("page", long_ones_are_thorough(PAGES), ids=lambda page: page.name)
def test_python_runs_from_top_to_bottom(
    page: pathlib.Path, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    monkeypatch.syspath_prepend(ROOT)
    monkeypatch.chdir(tmp_path)  # what it saves is not left in the checkout
    names: dict[str, object] = {"__name__": page.stem}
    for code in re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL):
        exec(compile(code, page.name, "exec"), names)


def test_the_gallery_has_what_was_drawn() -> None:
    record = json.loads((ROOT / "results" / "gallery.json").read_text())
    pictures = {picture for figure in record["figures"] for picture in figure["pictures"]}
    pictures |= {record["video"]["file"]} if record["video"] else set()
    assert pictures == {path.name for path in (ROOT / "docs" / "gallery").iterdir()}
    page = (ROOT / "docs" / "gallery.md").read_text()
    assert all(f"(gallery/{picture})" in page for picture in pictures)


def test_the_figures_of_exact_are_those_that_were_measured() -> None:
    path = ROOT / "results" / "exact-figures.json"
    measured = json.loads(path.read_text())["figures"] if path.exists() else {}
    assert {f"exact-{name}.svg" for name in measured} == {drawn.name for drawn in (ROOT / "docs").glob("exact-*.svg")}


@pytest.mark.parametrize("notebook", long_ones_are_thorough(NOTEBOOKS), ids=lambda path: path.stem)
def test_notebooks_run_from_top_to_bottom(
    notebook: pathlib.Path, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    """And print where the stored outputs say so; the numbers are another machine's."""
    monkeypatch.setattr(sys, "path", [str(ROOT / "tools"), *sys.path])
    monkeypatch.chdir(tmp_path)
    cells = json.loads(notebook.read_text())["cells"]
    for cell, found in zip(cells, importlib.import_module("tutorials").outputs(cells), strict=True):
        kinds = [output["output_type"] for output in cell.get("outputs", [])]
        assert kinds == [output["output_type"] for output in found], "".join(cell["source"])


def test_links_of_notebooks_lead_somewhere() -> None:
    for notebook in NOTEBOOKS:
        for target in re.findall(r"\]\(([^)#\s]+)\)", notebook.read_text()):
            assert target.startswith("http") or (notebook.parent / target).exists(), target

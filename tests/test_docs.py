"""The pages in docs/: their links lead somewhere, their Python runs, every picture is used."""

import json
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parent.parent
PAGES = sorted((ROOT / "docs").glob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: pathlib.Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)\)", page.read_text()):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_runs(page: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT)
    for code in re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL):
        exec(compile(code, page.name, "exec"), {})


def test_the_gallery_has_what_was_drawn() -> None:
    record = json.loads((ROOT / "results" / "gallery.json").read_text())
    pictures = {picture for figure in record["figures"] for picture in figure["pictures"]}
    pictures |= {record["video"]["file"]} if record["video"] else set()
    assert pictures == {path.name for path in (ROOT / "docs" / "gallery").iterdir()}
    page = (ROOT / "docs" / "gallery.md").read_text()
    assert all(f"(gallery/{picture})" in page for picture in pictures)

"""The site: pages of notebooks, links that lead out of docs/, names without a docstring, and what pages fetch."""

import importlib
import json
import pathlib
import sys
from types import ModuleType

import pytest

import lantm

pytest.importorskip("griffe", reason="needs lantm[docs]")
TOOLS = pathlib.Path(__file__).parent.parent / "tools"


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> ModuleType:
    monkeypatch.setattr(sys, "path", [str(TOOLS), *sys.path])
    module = importlib.import_module("site_builder")
    monkeypatch.setattr(module, "SOURCE", tmp_path / "source")
    monkeypatch.setattr(module, "SITE", tmp_path / "site")
    return module


def test_every_public_name_is_documented(site: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    assert site.undocumented() == []
    monkeypatch.setattr(site.public("Trained").members["scores"], "docstring", None)
    monkeypatch.setattr(site.public("load"), "docstring", None)
    assert site.undocumented() == ["Trained.scores", "load"]


def test_a_method_may_have_the_docstring_of_the_one_it_implements(site: ModuleType) -> None:
    step = site.public("Translation").members
    assert any(not member.has_docstring for member in step.values() if member.is_function and member.is_public)


def test_the_reference_lists_what_is_called(site: ModuleType) -> None:
    """The constructor's parameters and `__call__`, not the methods that only the package itself calls."""
    rendering = pytest.importorskip("mkdocstrings_handlers.python")
    [plugin] = [plugin for plugin in site.CONFIGURATION["plugins"] if "mkdocstrings" in plugin]
    options = plugin["mkdocstrings"]["handlers"]["python"]["options"]
    assert options["merge_init_into_class"]
    filters = rendering.PythonOptions.from_data(filters=options["filters"]).filters
    layer = site.public("LieAccess")
    listed = [
        member.name for member in rendering.do_filter_objects(layer.members, filters=filters) if member.is_function
    ]
    assert listed == ["__call__", "begin"]
    for name in site.INTERNAL:
        assert any(name in site.public(other).all_members for other in lantm._MODULES), f"{name} is no method any more"


def test_the_page_of_missing_pages_opens_from_disk(site: ModuleType) -> None:
    (site.SITE / "assets" / "javascripts").mkdir(parents=True)
    (site.SITE / "404.html").write_text('<link href="/assets/a.css"><a href="https://arxiv.org/">x</a>')
    site.make_local()
    assert (site.SITE / "404.html").read_text() == '<link href="assets/a.css"><a href="https://arxiv.org/">x</a>'


def test_a_missing_page_says_where_to_go(site: ModuleType) -> None:
    """And its search finds the rest: the generator gives it addresses that only a server would have."""
    (site.SITE / "assets" / "javascripts").mkdir(parents=True)
    page = site.SITE / "404.html"
    page.write_text('<script>{"base":"/","search":"/assets/search.js","version":"/1"}</script><h1>404</h1>')
    site.make_local()
    assert '{"base":"./","search":"./assets/search.js","version":"/1"}' in page.read_text()
    assert "<h1>404</h1>\n<p>" in page.read_text()
    assert 'href="index.html"' in page.read_text()


def test_tables_that_a_phone_can_show(site: ModuleType) -> None:
    """Cells of many words are marked, and a range stays in one line; all else is left as it is."""
    words = "<td>twice the number, <code>highest</code> digit first</td>"
    ranges = "<td>65-128</td><td>2-64 symbols</td>"
    others = "<th>1-2</th><td>2026-11-18</td><td>x-2</td><td>-10</td><td></td>"
    assert site.legible_tables(words) == words.replace("<td>", '<td class="words">')
    span = '<span class="range">{}</span>'.format
    assert site.legible_tables(ranges) == f"<td>{span('65-128')}</td><td>{span('2-64')} symbols</td>"
    assert site.legible_tables(others) == others


def test_files_of_the_repository_are_copied(site: ModuleType) -> None:
    docs = site.ROOT / "docs"
    assert site.linked("[a](../examples/helix.py) [b](x.md)", docs) == "[a](files/examples/helix.py) [b](x.md)"
    assert (site.SOURCE / "files/examples/helix.py").is_file()
    assert site.linked("[a](../../examples/helix.py)", docs / "tutorials") == "[a](../files/examples/helix.py)"
    with pytest.raises(SystemExit, match=r"links to examples/nothing\.py"):
        site.linked("[a](../examples/nothing.py)", docs)


def test_a_page_is_called_by_its_title(site: ModuleType) -> None:
    text = "[exact.md](exact.md#what-ends-it) [docs/pages.md](pages.md) [here](pages.md) [exact.md](pages.md)"
    expected = "[Exact answers](exact.md#what-ends-it) [Pages](pages.md) [here](pages.md) [exact.md](pages.md)"
    assert site.linked(text, site.ROOT / "docs") == expected


def test_a_notebook_is_a_page(site: ModuleType, tmp_path: pathlib.Path) -> None:
    cells = [{"cell_type": "markdown", "source": ["# T\n", "see [b](b.ipynb)"]}, {"cell_type": "code", "source": ["1"]}]
    cells[1]["outputs"] = [{"output_type": "execute_result", "data": {"text/plain": ["1"]}}]
    (tmp_path / "a.ipynb").write_text(json.dumps({"cells": cells}))
    text = site.linked(site.as_page(tmp_path / "a.ipynb"), site.ROOT / "docs" / "tutorials")
    assert text.startswith("# T\nsee [b](b.md)\n\n[This page as a notebook](a.ipynb)")
    assert text.endswith("```python\n1\n```\n\n```text\n1\n```")


def test_a_page_that_fetches_something_is_an_error(site: ModuleType) -> None:
    (site.SITE / "assets" / "javascripts").mkdir(parents=True)
    page = site.SITE / "sub" / "page.html"
    page.parent.mkdir()
    page.write_text('<script src="https://unpkg.com/iframe-worker/shim"></script><a href="https://arxiv.org/">x</a>')
    site.make_local()
    assert '<script src="../assets/javascripts/iframe-worker.js">' in page.read_text()
    page.write_text('<link rel="stylesheet" href="https://fonts.example/x.css">')
    with pytest.raises(SystemExit, match="fetches https://fonts"):
        site.make_local()

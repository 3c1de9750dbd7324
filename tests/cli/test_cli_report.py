"""`lantm report`, and the report that training writes."""

import json
import os
import webbrowser
from collections.abc import Callable

import pytest

from lantm.training import RunFolder


def test_report(lantm, copy_of_run: Callable[[], RunFolder], monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    page = copy_of_run().path / "report.html"
    said = lantm("report", page.parent, "--json", "--open")
    assert (said.status, said.err) == (0, "")
    assert json.loads(said.out) == {"page": str(page), "bytes": page.stat().st_size}
    assert opened == [page.as_uri()]
    monkeypatch.setattr("lantm.cli.report.write_report", lambda trained: page)
    assert lantm("report", page.parent).out.startswith(f"wrote {page} (0.")


def test_training_writes_it(lantm, copy_of_run: Callable[[], RunFolder], monkeypatch: pytest.MonkeyPatch) -> None:
    """A complete run, resumed, is reported if its page is missing or old; a report that fails does not spoil it."""
    folder = copy_of_run()
    said = lantm("train", "--resume", folder.path)
    assert said.status == 0
    assert f"everything is in {folder.path}; open {folder.path / 'report.html'} in a browser\n" in said.out
    page = (folder.path / "report.html").read_bytes()
    assert page.startswith(b"<!DOCTYPE html>")

    os.utime(folder.path / "report.html", (0, 0))  # of before the end of training
    monkeypatch.setattr("lantm.report.pages.run_report.report_page", lambda *_: 1 / 0)
    said = lantm("train", "--resume", folder.path)
    assert said.status == 0
    assert "warning: the report was not written (division by zero): lantm report" in said.out
    assert f"everything is in {folder.path}\n" in said.out
    assert (folder.path / "report.html").read_bytes() == page


def test_mistakes(refused: Callable[..., str], trained) -> None:
    assert "is not a run folder" in refused("report", trained.folder.path / "nothing")

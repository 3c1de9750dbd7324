"""The program as commands name it in what they advise: so that it can be typed."""

import pathlib
import sys

import pytest

from lantm.cli.output import program


def test_on_the_path_it_is_its_name(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    (tmp_path / "lantm").write_text("")
    (tmp_path / "lantm").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert program() == "lantm"


def test_elsewhere_it_is_its_path(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    """As after `make demo`, whose environment is not activated."""
    monkeypatch.setenv("PATH", "")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(tmp_path / ".venv/bin/lantm"), "demo"])
    assert program() == ".venv/bin/lantm"
    monkeypatch.setattr(sys, "argv", ["/somewhere/lantm/__main__.py", "demo"])
    monkeypatch.setattr(sys, "executable", "/usr/bin/python3")
    assert program() == "python3 -m lantm"

"""The command line in this process, and what it says."""

import hashlib
import pathlib
from collections.abc import Callable
from typing import NamedTuple

import pytest

from lantm.cli import main


class Said(NamedTuple):
    """How a command ended."""

    status: int
    out: str
    err: str


Command = Callable[..., Said]


@pytest.fixture
def lantm(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """Runs a command, as on a terminal of 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")

    def run(*arguments: object) -> Said:
        capsys.readouterr()
        status = main([str(argument) for argument in arguments])
        return Said(status, *capsys.readouterr())

    return run


def listing(path: pathlib.Path) -> dict[str, str]:
    """Everything below a folder, with what is in it."""
    return {
        str(file.relative_to(path)): hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else "folder"
        for file in sorted(path.rglob("*"))
    }


@pytest.fixture
def refused(lantm: Command, tmp_path: pathlib.Path) -> Callable[..., str]:
    """Runs a command that is a mistake: one line, status 2, nothing on the disk changes. Returns the line."""

    def run(*arguments: object) -> str:
        before = listing(tmp_path)
        said = lantm(*arguments)
        assert said.status == 2
        assert said.out == ""
        assert said.err.startswith("lantm: ")
        assert said.err.count("\n") == 1
        assert said.err.endswith("\n")
        assert listing(tmp_path) == before
        return said.err

    return run

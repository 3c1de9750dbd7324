"""What commands leave behind, and how they refuse."""

import hashlib
import pathlib
from collections.abc import Callable

import pytest


def listing(path: pathlib.Path) -> dict[str, str]:
    """Everything below a folder, with what is in it."""
    return {
        str(file.relative_to(path)): hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else "folder"
        for file in sorted(path.rglob("*"))
    }


@pytest.fixture
def refused(lantm: Callable, tmp_path: pathlib.Path) -> Callable[..., str]:
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

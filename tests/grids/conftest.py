"""Sweep files, and a small sweep."""

import pathlib
from collections.abc import Callable

import pytest
from tiny_sweeps import TINY

from lantm.grids import Sweep


@pytest.fixture
def tiny_sweep() -> Sweep:
    """Two rates, two seeds: one group of four machines."""
    return Sweep.from_json(TINY)


@pytest.fixture
def sweep_file(tmp_path: pathlib.Path) -> Callable[..., pathlib.Path]:
    """Writes a sweep file."""

    def write(text: str, name: str = "sweep.toml") -> pathlib.Path:
        path = tmp_path / name
        path.write_text(text)
        return path

    return write

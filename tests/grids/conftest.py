"""Sweep files, a small sweep, and a small study."""

import pathlib
import shutil
from collections.abc import Callable

import pytest
from small_study import Bench
from tiny_sweeps import TINY

from lantm.grids import Sweep
from lantm.training import Experiment


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


@pytest.fixture
def bench(tmp_path: pathlib.Path, tiny: Experiment) -> Bench:
    """A study of one cell, of which nothing is done yet."""
    return Bench(tmp_path, tiny)


@pytest.fixture
def done(bench: Bench, trained) -> Bench:
    """The same with a complete run folder; nothing is scored yet."""
    shutil.copytree(trained.folder.path, bench.run)
    return bench

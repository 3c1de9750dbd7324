"""A shelf with one machine."""

import pathlib

import pytest

from lantm.trained import Trained


@pytest.fixture
def reader(trained_text) -> Trained:
    """Two seeds, 3 and 4, that have read the small text: not to be changed."""
    return trained_text.machines


@pytest.fixture
def shelf(trained, tmp_path: pathlib.Path) -> pathlib.Path:
    """A shelf with the third seed of the small run."""
    trained.machines.save(tmp_path / "copy-lantm-invnorm.safetensors", seed=2, scores=[])
    return tmp_path

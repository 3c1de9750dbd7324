"""A small run on a text, and a shelf with one machine."""

import pathlib
from collections.abc import Callable

import pytest

from lantm.trained import Trained, load_run
from lantm.training import Experiment, RunFolder, train


@pytest.fixture(scope="session")
def reader(language: Callable[..., Experiment], tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """Two seeds, 3 and 4, that have read the small text: not to be changed."""
    experiment = language()
    folder = RunFolder.create(tmp_path_factory.mktemp("reader") / "run", experiment, {"jax": "0"})
    train(experiment, folder)
    return load_run(folder)


@pytest.fixture
def shelf(trained, tmp_path: pathlib.Path) -> pathlib.Path:
    """A shelf with the third seed of the small run."""
    trained.machines.save(tmp_path / "copy-lantm-invnorm.safetensors", seed=2, scores=[])
    return tmp_path

"""Several starts a seed: each is the machine of a seed of its own, and the one with the best test is kept."""

import dataclasses
import pathlib
from typing import Any

import jax
import numpy as np
import pytest
from lantm.experiments.promotion import promote

from lantm import zoo
from lantm.evaluation import Examiner, Scores
from lantm.tasks import Lengths
from lantm.training import Experiment, Result, RunFolder, best_tests_of_starts, load_learners, train
from lantm.training.loop import start_seed

# Of two seeds with three starts each: the tests of epochs 2, 4 and 6.
COARSE = {2: [10, 20, 0, 90, 0, 0], 4: [10, 30, 0, 20, 60, 0], 6: [20, 20, 0, 20, 70, 0]}


@pytest.fixture
def several(tiny: Experiment) -> Experiment:
    return dataclasses.replace(tiny, seeds=2, recipe=dataclasses.replace(tiny.recipe, starts=3))


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> None:
    class Scripted(Examiner):
        def __call__(self, models: Any, seeds: Any, lengths: Lengths, *_: int) -> Scores:
            number = len(seeds)
            coarse = np.array(COARSE.get(_[-1], [0] * 6)[:number], float)
            return Scores("copy", lengths, coarse, np.zeros(number), np.zeros(number), problems=1)

    monkeypatch.setattr("lantm.training.loop.Examiner", Scripted)


def trained(experiment: Experiment, folder: pathlib.Path, **options: Any) -> tuple[Result, RunFolder]:
    run = RunFolder.create(folder, experiment, {})
    return train(experiment, run, **options), run


@pytest.mark.usefixtures("scripted")
def test_the_start_with_the_best_test_is_kept(several: Experiment, tmp_path: pathlib.Path) -> None:
    result, run = trained(several, tmp_path / "run")
    assert result.learners.best_epoch.tolist() == [4, 2]
    assert result.learners.seed.tolist() == [1_000_003, 1]
    tests = [(row["epoch"], row["seed"], row["coarse"]) for row in run.metrics() if row.get("test") == "1x"]
    assert tests == [(2, 0, 20), (2, 1, 90), (4, 0, 30), (4, 1, 20), (6, 0, 20), (6, 1, 20)]
    assert best_tests_of_starts(run) == [[20, 30, 0], [90, 70, 0]]
    _, _, _, loaded, _ = load_learners(run)
    jax.tree.map(np.testing.assert_array_equal, loaded, result.learners)


@pytest.mark.usefixtures("scripted")
def test_a_start_is_the_machine_of_a_seed_of_its_own(several: Experiment, tmp_path: pathlib.Path) -> None:
    result, _ = trained(several, tmp_path / "run")
    assert [start_seed(1, at) for at in range(3)] == [1, 1_000_004, 2_000_007]
    alone = dataclasses.replace(several, first_seed=1_000_003, recipe=dataclasses.replace(several.recipe, starts=1))
    single, _ = trained(alone, tmp_path / "single")
    weights = [learned.model.readout.weight[0] for learned in (result.learners, single.learners)]
    np.testing.assert_array_equal(*weights)


@pytest.mark.usefixtures("scripted")
def test_an_interrupted_training_goes_on_with_all_starts(several: Experiment, tmp_path: pathlib.Path) -> None:
    whole, _ = trained(several, tmp_path / "whole")
    epochs: list[int] = []
    _, run = trained(
        several, tmp_path / "run", watch=lambda progress: epochs.append(progress.epoch), stop=lambda: 3 in epochs
    )
    assert epochs[-1] == 3
    resumed = train(several, run, resume=True)
    jax.tree.map(np.testing.assert_array_equal, resumed.learners, whole.learners)


def test_a_machine_of_the_zoo_names_the_seed_of_its_start(several: Experiment, tmp_path: pathlib.Path) -> None:
    result, run = trained(several, tmp_path / "run")
    shipped = promote(run, seed=1, name="one-of-three", problems=32, shelf=tmp_path)
    assert shipped.experiment.recipe.starts == 1
    assert shipped.experiment.first_seed == shipped.notes["seed"] == result.learners.seed[1]
    assert zoo.names(tmp_path) == ["one-of-three"]

"""Several starts per seed: each is the machine of a seed of its own, and the one with the best test is kept."""

import dataclasses
import pathlib
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

from lantm.evaluation import Draw, Examiner, Measured, Perplexity, Scores
from lantm.tasks import Lengths, Task
from lantm.trained import load_run, promote, zoo
from lantm.training import Experiment, Result, RunFolder, best_starts, load_learners, train
from lantm.training.starts import start_seed

# Of two seeds with three starts each: the tests of epochs 2, 4 and 6.
COARSE = {2: [10, 20, 0, 90, 0, 0], 4: [10, 30, 0, 20, 60, 0], 6: [20, 20, 0, 20, 70, 0]}


@pytest.fixture
def several(tiny: Experiment) -> Experiment:
    return dataclasses.replace(tiny, seeds=2, recipe=dataclasses.replace(tiny.recipe, starts=3))


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> None:
    class Scripted(Examiner):
        def __init__(self, task: Task, lengths: dict[str, Lengths], *_: int):
            self._lengths = lengths

        def __call__(self, models: Any, seeds: Any, draw: Draw) -> dict[str, Measured]:
            number = len(seeds)
            coarse = np.array(COARSE.get(draw.counter, [0] * 6)[:number], float)
            return {
                label: Scores(lengths, coarse, np.zeros(number), np.zeros(number), problems=1)
                for label, lengths in self._lengths.items()
            }

    monkeypatch.setattr("lantm.training.material.ProblemExaminer", Scripted)


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
    assert result.start_merits == [[20, 30, 0], [90, 70, 0]]
    _, loaded, _ = load_learners(run, several, several.source())
    assert np.asarray(loaded.seed).tolist() == [0, 1_000_003, 2_000_006, 1, 1_000_004, 2_000_007], "all are saved"
    jax.tree.map(np.testing.assert_array_equal, best_starts(several, loaded), result.learners)
    jax.tree.map(np.testing.assert_array_equal, load_run(run).best_weights, result.learners.best_model)


@pytest.mark.thorough
@pytest.mark.usefixtures("scripted")
def test_a_start_is_the_machine_of_a_seed_of_its_own(several: Experiment, tmp_path: pathlib.Path) -> None:
    """Also where it learns from other lengths than its neighbours: the kept ones of both seeds have odd numbers."""
    recipe = dataclasses.replace(several.recipe, curriculum=0.9, curriculum_seeds="even")
    several = dataclasses.replace(several, recipe=recipe)
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
    shipped = promote(load_run(run), seed=1, name="one-of-three", problems=32, shelf=tmp_path)
    assert shipped.experiment.recipe.starts == 1
    assert shipped.experiment.first_seed == shipped.notes["seed"] == result.learners.seed[1]
    assert zoo.names(tmp_path) == ["one-of-three"]


# Texts.

# The same for a text: the perplexities of epochs 1 to 3.
PERPLEXITY = {1: [50, 40, 60, 10, 60, 60], 2: [50, 30, 60, 20, 12, 60], 3: [45, 35, 60, 20, 15, 60]}


@pytest.fixture
def scripted_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    class Scripted(Examiner):
        def __init__(self, text: Any, parts: dict[str, str], *_: int):
            self._parts = parts

        def __call__(self, models: Any, seeds: Any, draw: Draw | None = None) -> dict[str, Measured]:
            perplexity = np.array(PERPLEXITY.get(draw.counter, PERPLEXITY[3])[: len(seeds)], float)
            return {label: Perplexity(np.log(perplexity), tokens=9) for label in self._parts}

    monkeypatch.setattr("lantm.training.material.TextExaminer", Scripted)


@pytest.mark.thorough
@pytest.mark.usefixtures("scripted_texts")
def test_of_a_text_the_start_with_the_best_validation_is_kept(
    text_experiment: Callable[..., Experiment], tmp_path: pathlib.Path
) -> None:
    result, run = trained(text_experiment(starts=3), tmp_path / "run")
    assert result.learners.best_epoch.tolist() == [2, 1]
    assert result.learners.seed.tolist() == [1_000_006, 4], "the second start of seed 3, the first of seed 4"
    tests = [(row["epoch"], row["seed"], row["perplexity"]) for row in run.metrics() if "test" in row]
    assert tests == [(1, 3, 40), (1, 4, 10), (2, 3, 30), (2, 4, 20), (3, 3, 35), (3, 4, 20)]
    np.testing.assert_allclose(np.exp(-np.array(result.start_merits)), [[45, 30, 60], [10, 12, 60]], rtol=1e-3)
    for label in ("validation", "test"):
        np.testing.assert_allclose(result.tests[label].values, [35, 20])
    assert [epoch for epoch, _ in run.recordings(result.source, 3)] == [1, 2, 3]
    # The machine that is kept is that of its own seed, trained without other starts.
    alone = train(dataclasses.replace(text_experiment(), first_seed=1_000_006))
    weights = [learned.model.readout.weight[0] for learned in (result.learners, alone.learners)]
    np.testing.assert_array_equal(*weights)

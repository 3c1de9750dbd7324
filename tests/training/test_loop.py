"""The loop: when it tests, with which problems, and which weights it keeps."""

import dataclasses
import pathlib
from typing import Any

import numpy as np
import pytest
from lantm.seeds import EVALUATE, TEST

from lantm.evaluation import Examiner, Scores
from lantm.tasks import Lengths, Task
from lantm.training import Experiment, Progress, Recipe, Result, RunFolder, train
from lantm.training.loop import _merit

# Coarse scores of the seeds in the tests of epochs 2, 4 and 6.
COARSE = {2: [90, 10, 20, 0], 4: [50, 30, 20, 0], 6: [60, 20, 20, 0]}
FINE = {2: [0, 90, 20, 0], 4: [0, 0, 10, 0], 6: [0, 0, 10, 0]}


class Watched(list[Any]):
    """Everything the loop asked and told."""

    result: Result
    told: list[Progress]
    rows: list[dict[str, Any]]


@pytest.fixture(scope="module")
def watched(tiny: Experiment, tmp_path_factory: pytest.TempPathFactory) -> Watched:
    asked = Watched()

    class Scripted(Examiner):
        def __call__(
            self, models: Any, seeds: Any, lengths: Lengths, batches: int, purpose: int, counter: int
        ) -> Scores:
            asked.append((np.asarray(models.readout.weight), lengths, batches, purpose, counter))
            coarse, fine = (np.array(table.get(counter, [0] * 4), float) for table in (COARSE, FINE))
            return Scores("copy", lengths, coarse, fine, np.zeros(4), problems=1)

    folder = RunFolder.create(tmp_path_factory.mktemp("watched") / "run", tiny, {})
    asked.told = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("lantm.training.loop.Examiner", Scripted)
        asked.result = train(tiny, folder, watch=asked.told.append)
    asked.rows = list(folder.metrics())
    return asked


def test_tests_are_drawn_anew_every_time_and_final_scores_from_others(watched: Watched) -> None:
    assert [(lengths, batches, purpose, counter) for _, lengths, batches, purpose, counter in watched] == [
        (Lengths(low, high), 2, purpose, counter)
        for purpose, counter in ((TEST, 2), (TEST, 4), (TEST, 6), (EVALUATE, 0))
        for low, high in ((2, 4), (5, 8))
    ]


def test_the_best_weights_of_every_seed_are_scored_in_the_end(watched: Watched) -> None:
    """By the coarse score, then the fine one; of equals the later."""
    tested = {counter: weights for weights, _, _, purpose, counter in watched if purpose == TEST}
    final = watched[-1][0]
    best = [2, 4, 2, 6]
    assert watched.result.learners.best_epoch.tolist() == best
    for seed, epoch in enumerate(best):
        np.testing.assert_array_equal(final[seed], tested[epoch][seed])
    assert (tested[2] != tested[6]).any(axis=(1, 2)).all(), "weights that can be told apart"
    np.testing.assert_array_equal(watched.result.learners.model.readout.weight, tested[6])


def test_what_a_watcher_is_told(watched: Watched) -> None:
    assert [progress.epoch for progress in watched.told] == [1, 2, 3, 4, 5, 6]
    assert {progress.epochs for progress in watched.told} == {6}
    assert [sorted(progress.tests) for progress in watched.told] == [[], *[[1, 2]] * 5], "the latest test"
    assert watched.told[2].tests[1].coarse.tolist() == COARSE[2]
    assert watched.told[-1].tests[1].coarse.tolist() == COARSE[6]
    seconds = [progress.seconds for progress in watched.told]
    assert seconds == sorted(seconds)
    assert watched.told[0].report.loss.shape == (4,)


def test_metrics_are_what_a_watcher_is_told(watched: Watched) -> None:
    for progress in watched.told:
        rows = [row for row in watched.rows if row["epoch"] == progress.epoch]
        assert [row["loss"] for row in rows if "loss" in row] == progress.report.loss.tolist()
        assert [row["rate"] for row in rows if "loss" in row] == progress.report.rate.tolist()
        tests = [row["coarse"] for row in rows if row.get("test") == "2x"]
        assert tests == COARSE.get(progress.epoch, [])


def test_the_last_epoch_is_always_tested(tiny: Experiment, tmp_path: pathlib.Path) -> None:
    experiment = dataclasses.replace(tiny, recipe=dataclasses.replace(tiny.recipe, epochs=3))
    folder = RunFolder.create(tmp_path / "run", experiment, {})
    result = train(experiment, folder)
    assert (result.epoch, result.complete) == (3, True)
    assert {row["epoch"] for row in folder.metrics() if "test" in row} == {2, 3}


@pytest.mark.parametrize(("select", "expected"), [((), 4), ((1, 2), 4), ((2,), 6), ((1,), 2)])
def test_the_best_weights_are_those_of_the_selecting_scales(
    tiny: Experiment, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, select: tuple[int, ...], expected: int
) -> None:
    """Coarse scores that are best at 1x in epoch 2, at 2x in epoch 6, and on the whole in epoch 4."""
    coarse = {2: {1: 90.0, 2: 0.0}, 4: {1: 80.0, 2: 80.0}, 6: {1: 0.0, 2: 90.0}}

    class Scripted(Examiner):
        def __init__(self, task: Task, *sizes: int):
            self.task = task

        def __call__(
            self, models: Any, seeds: Any, lengths: Lengths, batches: int, purpose: int, counter: int
        ) -> Scores:
            scale = 1 if lengths == self.task.lengths_at(1) else 2
            score = np.full(4, coarse.get(counter, {}).get(scale, 0.0))
            return Scores("copy", lengths, score, score, score, problems=1)

    monkeypatch.setattr("lantm.training.loop.Examiner", Scripted)
    recipe = dataclasses.replace(tiny.recipe, select_scales=select)
    experiment = dataclasses.replace(tiny, recipe=recipe, recorded_seeds=0)
    result = train(experiment, RunFolder.create(tmp_path / "run", experiment, {}))
    assert result.learners.best_epoch.tolist() == [expected] * 4


def test_lucky_tests_at_long_lengths_do_not_outweigh_short_ones() -> None:
    """A seed a column: what is best by its mean, and what is best by what it solves, shorter lengths first."""

    def scores(*coarse: float) -> Scores:
        return Scores(
            "copy", Lengths(2, 4), np.array(coarse, float), np.zeros(len(coarse)), np.zeros(len(coarse)), problems=1
        )

    tests = [scores(100, 100, 100, 50), scores(95, 99, 95, 100), scores(60, 20, 100, 100)]
    assert np.argsort(_merit(tests, Recipe())).tolist() == [1, 3, 0, 2]
    assert np.argsort(_merit(tests, Recipe(shorter_first=True))).tolist() == [3, 0, 2, 1]


def test_either_score_may_choose() -> None:
    one = Scores("copy", Lengths(2, 4), np.array([9.0, 8, 9]), np.array([60.0, 70, 65]), np.zeros(3), problems=1)
    assert np.argsort(_merit([one], Recipe())).tolist() == [1, 0, 2]
    assert np.argsort(_merit([one], Recipe(select_by="fine"))).tolist() == [0, 2, 1]
    assert (one.best, one.best_by("coarse"), one.best_by("fine")) == (2, 2, 1)

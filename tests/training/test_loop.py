"""The loop: when it tests, with which problems, and which weights it keeps."""

import dataclasses
import math
import pathlib
from typing import Any

import jax
import numpy as np
import pytest

from lantm.evaluation import Draw, Examiner, Hard, Measured, Scores
from lantm.randomness import EVALUATE, TEST
from lantm.tasks import Lengths, Task
from lantm.training import Experiment, History, Progress, Result, RunFolder, loop, train

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
        def __init__(self, task: Task, lengths: dict[str, Lengths], seeds: int, batch_size: int):
            assert (seeds, batch_size) == (4, 4)
            self._lengths = lengths

        def __call__(self, models: Any, seeds: Any, draw: Draw) -> dict[str, Measured]:
            asked.append((np.asarray(models.readout.weight), self._lengths, draw))
            coarse, fine = (np.array(table.get(draw.counter, [0] * 4), float) for table in (COARSE, FINE))
            return {
                label: Scores(lengths, coarse, fine, np.zeros(4), problems=1)
                for label, lengths in self._lengths.items()
            }

    folder = RunFolder.create(tmp_path_factory.mktemp("watched") / "run", tiny, {})
    asked.told, asked.announced = [], []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("lantm.training.material.ProblemExaminer", Scripted)
        announce = lambda *what: asked.announced.append(what)  # noqa: E731
        asked.result = train(tiny, folder, watch=asked.told.append, announce=announce)
    asked.rows = list(folder.metrics())
    return asked


def test_tests_are_drawn_anew_every_time_and_final_scores_from_others(watched: Watched) -> None:
    lengths = {"1x": Lengths(2, 4), "2x": Lengths(5, 8)}
    assert [asked[1:] for asked in watched] == [
        (lengths, Draw(2 * 4, purpose, counter))
        for purpose, counter in ((TEST, 2), (TEST, 4), (TEST, 6), (EVALUATE, 0))
    ]


def test_the_best_weights_of_every_seed_are_scored_in_the_end(watched: Watched) -> None:
    """By the coarse score, then the fine one; of equals the later."""
    tested = {draw.counter: weights for weights, _, draw in watched if draw.purpose == TEST}
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
    assert [sorted(progress.tests) for progress in watched.told] == [[], *[["1x", "2x"]] * 5], "the latest test"
    assert [progress.tested for progress in watched.told] == [False, True] * 3
    assert watched.told[2].tests["1x"].coarse.tolist() == COARSE[2]
    assert watched.told[-1].tests["1x"].coarse.tolist() == COARSE[6]
    seconds = [progress.seconds for progress in watched.told]
    assert seconds == sorted(seconds)
    assert watched.told[0].report.loss.shape == (4,)
    for progress in watched.told:
        assert progress.batch == progress.batches == 2
        np.testing.assert_array_equal(progress.loss, progress.report.loss)
        np.testing.assert_array_equal(progress.rate, progress.report.rate)
        assert progress.per_second > 0


def test_tests_are_announced(watched: Watched) -> None:
    """They may take longer than an epoch."""
    assert watched.announced == [*((epoch, "testing") for epoch in (2, 4, 6)), (6, "scoring the best weights")]


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


def test_the_best_weights_are_those_of_the_best_mean_over_all_scales(
    tiny: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Coarse scores that are best at 1x in epoch 2, at 2x in epoch 6, and on the whole in epoch 4."""
    coarse = {2: {"1x": 90.0, "2x": 0.0}, 4: {"1x": 80.0, "2x": 80.0}, 6: {"1x": 0.0, "2x": 90.0}}
    result = trained_with(coarse, tiny, monkeypatch)
    assert result.learners.best_epoch.tolist() == [4] * 4


@pytest.mark.thorough
def test_shorter_scales_may_come_first(tiny: Experiment, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the shortest scale on, in whatever order they are tested."""
    coarse = {2: {"1x": 100.0, "2x": 10.0}, 4: {"1x": 95.0, "2x": 100.0}, 6: {"1x": 98.0, "2x": 20.0}}
    recipe = dataclasses.replace(tiny.recipe, test_scales=(2, 1))
    for shorter_first, expected in ((False, 4), (True, 2)):
        changed = dataclasses.replace(tiny, recipe=dataclasses.replace(recipe, shorter_first=shorter_first))
        result = trained_with(coarse, changed, monkeypatch)
        assert result.learners.best_epoch.tolist() == [expected] * 4


def test_hard_problems_choose_weights_after_random_ones_of_their_length(
    tiny: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Solved in a row, from the shortest on, are one in epoch 2, two in epoch 4 and none in epoch 6."""
    coarse = {
        2: {"1x": 100.0, "1x hard": 0.0, "2x": 100.0, "2x hard": 100.0},
        4: {"1x": 100.0, "1x hard": 100.0, "2x": 0.0, "2x hard": 0.0},
        6: {"1x": 0.0, "1x hard": 100.0, "2x": 100.0, "2x hard": 100.0},
    }
    random_before_hard = {4: {"1x": 100.0}, 6: {"1x hard": 100.0}}
    recipe = dataclasses.replace(tiny.recipe, test_scales=(2, 1), test_hard_scales=(2, 1), shorter_first=True)
    result = trained_with(coarse, dataclasses.replace(tiny, recipe=recipe), monkeypatch)
    assert result.learners.best_epoch.tolist() == [4] * 4
    assert result.tests.keys() == {"1x", "1x hard", "2x", "2x hard"}
    result = trained_with(random_before_hard, dataclasses.replace(tiny, recipe=recipe), monkeypatch)
    assert result.learners.best_epoch.tolist() == [4] * 4
    recipe = dataclasses.replace(recipe, shorter_first=False)
    result = trained_with(coarse, dataclasses.replace(tiny, recipe=recipe), monkeypatch)
    assert result.learners.best_epoch.tolist() == [6] * 4, "all count alike, and the later wins a tie"


def trained_with(
    coarse: dict[int, dict[str, float]], experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> Result:
    """A training whose tests have these coarse scores, by epoch and scale."""

    class Scripted(Examiner):
        def __init__(self, task: Task, lengths: dict[str, Lengths | Hard], *_: int):
            self._lengths = lengths

        def __call__(self, models: Any, seeds: Any, draw: Draw) -> dict[str, Measured]:
            found: dict[str, Measured] = {}
            for label, lengths in self._lengths.items():
                score = np.full(4, coarse.get(draw.counter, {}).get(label, 0.0))
                lengths = lengths.lengths if isinstance(lengths, Hard) else lengths
                found[label] = Scores(lengths, score, score, score, problems=1)
            return found

    monkeypatch.setattr("lantm.training.material.ProblemExaminer", Scripted)
    return train(experiment)


# Without a folder.


@pytest.mark.parametrize("kind", ["trained", "trained_text"])
def test_training_without_a_folder(
    kind: str, request: pytest.FixtureRequest, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same machines and figures, and nothing on the disk; the history says what the metrics of a folder say."""
    run = request.getfixturevalue(kind)
    monkeypatch.chdir(tmp_path)
    result = train(run.experiment)
    assert list(tmp_path.iterdir()) == []
    assert result.complete
    for one, other in zip(jax.tree.leaves(result.learners), jax.tree.leaves(run.result.learners), strict=True):
        np.testing.assert_array_equal(one, other)
    for label, test in run.result.tests.items():
        for seed in range(run.experiment.seeds):
            assert result.tests[label].by_seed(seed) == test.by_seed(seed)
    check_history(result.history, list(run.folder.metrics()), run.experiment)
    np.testing.assert_equal(dataclasses.asdict(result.history), dataclasses.asdict(run.folder.history(run.experiment)))


def check_history(history: History, rows: list[dict[str, Any]], experiment: Experiment) -> None:
    """Row by row, against the lines of metrics.jsonl."""
    seeds = list(experiment.seed_numbers)
    epochs = [row for row in rows if "test" not in row]
    assert history.epochs.tolist() == sorted({row["epoch"] for row in epochs})
    assert history.loss.size == len(epochs)
    for row in epochs:
        at = (history.epochs.tolist().index(row["epoch"]), seeds.index(row["seed"]))
        for name in ("loss", "gradient_norm", "rate", "skipped"):
            assert getattr(history, name)[at] == row[name]
    assert not history.diverged.any()
    tests = [row for row in rows if "test" in row]
    assert history.tests.keys() == {row["test"] for row in tests}
    for row in tests:
        curves = history.tests[row["test"]]
        at = (curves.epochs.tolist().index(row["epoch"]), seeds.index(row["seed"]))
        assert {name: figures[at] for name, figures in curves.figures.items()} == {
            name: value for name, value in row.items() if name not in ("epoch", "seed", "test")
        }


# Checkpoints.


@pytest.fixture
def saved(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The epochs of the checkpoints that are written."""
    epochs: list[int] = []
    save = RunFolder.save_checkpoint

    def watched(self: RunFolder, epoch: int, learners: Any, origin: Any) -> None:
        epochs.append(epoch)
        save(self, epoch, learners, origin)

    monkeypatch.setattr(RunFolder, "save_checkpoint", watched)
    return epochs


def test_a_checkpoint_is_written_after_every_test(
    tiny: Experiment, tmp_path: pathlib.Path, saved: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "_QUICK", math.inf)  # on a slow disk too
    train(tiny, RunFolder.create(tmp_path / "run", tiny, {}))
    assert saved == [2, 4, 6]


@pytest.mark.parametrize("seconds", [60.0, 0.0], ids=["within a minute", "after it"])
def test_where_writing_takes_long_checkpoints_are_fewer(
    tiny: Experiment, tmp_path: pathlib.Path, saved: list[int], monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    """After the first, they are written when some time has passed, and at the end."""
    monkeypatch.setattr(loop, "_QUICK", -1.0)
    monkeypatch.setattr(loop, "_SECONDS_PER_CHECKPOINT", seconds)
    train(tiny, RunFolder.create(tmp_path / "run", tiny, {}))
    assert saved == ([6] if seconds else [1, 2, 3, 4, 5, 6])

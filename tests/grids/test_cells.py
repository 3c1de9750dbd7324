"""Reproducing a study: trained once, gone on with when interrupted, scored on fresh problems."""

import dataclasses
import json
import pathlib
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from lantm.experiments import Conduct, Request, Study, TrainedCell, from_zoo, promote, reproduce
from lantm.experiments.paper import Figures
from lantm.experiments.reproduce import read_result, to_text
from lantm.seeds import EVALUATE

from lantm import zoo
from lantm.errors import LantmError
from lantm.evaluation import Examiner
from lantm.training import Experiment, RunFolder, load_learners


class Watch:
    """Notes what is said and trained, and stops when it was asked often enough."""

    def __init__(self, stops_after: int | None = None) -> None:
        self.said: list[str] = []
        self.epochs: list[int] = []
        self._left = stops_after

    def conduct(self) -> Conduct:
        return Conduct(say=self.said.append, stop=self._stop, watch=self._watch)

    def _stop(self) -> bool:
        if self._left is None:
            return False
        self._left -= 1
        return self._left < 0

    @contextmanager
    def _watch(self, experiment: Experiment) -> Iterator[Any]:
        yield lambda progress: self.epochs.append(progress.epoch)


class Bench:
    """A study of one small cell, in a folder."""

    def __init__(self, folder: pathlib.Path, experiment: Experiment):
        self.results, self.runs = folder / "results", folder / "runs"
        self.experiment = experiment
        self.request = Request(problems=64)
        self.run = self.runs / "copy-lantm-invnorm-paper"
        self.file = self.results / "small" / "copy-lantm-invnorm-paper.json"

    def cells(self, request: Request) -> list[TrainedCell]:
        experiment = self.experiment
        if request.seeds is not None:
            experiment = dataclasses.replace(experiment, seeds=request.seeds)
        return [TrainedCell(experiment, (1, 2), {1: Figures(0, 0), 2: Figures(100, 100)}, request)]

    def __call__(self, watch: Watch, again: bool = False) -> list[dict[str, Any] | None]:
        study = Study("small", "", self.cells)
        found = reproduce(study, self.request, self.results, self.runs, watch.conduct(), again, "a command")
        return [result for _, result in found]


@pytest.fixture
def bench(tmp_path: pathlib.Path, tiny: Experiment) -> Bench:
    return Bench(tmp_path, tiny)


@pytest.fixture
def done(bench: Bench, trained) -> Bench:
    """Its run folder is complete; nothing is scored yet."""
    shutil.copytree(trained.folder.path, bench.run)
    return bench


def test_interrupted_gone_on_and_stored(bench: Bench, trained) -> None:
    # Asked before the cell and before each epoch: it trains three of six.
    watch = Watch(stops_after=4)
    assert bench(watch) == [None]
    assert watch.epochs == [1, 2, 3]
    assert not bench.file.exists()
    watch = Watch()
    (result,) = bench(watch)
    assert watch.epochs == [4, 5, 6]
    assert result is not None
    assert json.loads(bench.file.read_text()) == json.loads(json.dumps(result))
    for got, expected in zip(list(RunFolder(bench.run).metrics()), list(trained.folder.metrics()), strict=True):
        assert got == expected, "as if it had never been interrupted"
    assert result["training_seconds"] > 0

    watch = Watch()
    assert bench(watch) == [json.loads(bench.file.read_text())]
    assert (watch.epochs, watch.said) == ([], []), "what is stored is taken"
    shutil.rmtree(bench.run)
    assert bench(Watch()) == [json.loads(bench.file.read_text())], "also without its run folder"


def test_what_a_result_says(done: Bench, trained) -> None:
    (result,) = done(Watch())
    assert result is not None
    assert (result["study"], result["cell"], result["command"]) == ("small", "copy-lantm-invnorm-paper", "a command")
    assert Experiment.from_json(json.loads(json.dumps(result["experiment"]))) == trained.experiment
    assert result["scored"]["jax"]
    assert result["epochs"] == 6

    _, task, _, learners, _ = load_learners(trained.folder)
    assert result["best_epochs"] == learners.best_epoch.tolist()
    assert result["steps_without_finite_gradient"] == [0, 0, 0, 0]
    examiner = Examiner(task, 8, 4)
    for scale, row, final in zip((1, 2), result["rows"], result["final"], strict=True):
        lengths = task.lengths_at(scale)
        fresh = examiner(learners.best_model, learners.seed, lengths, 2, EVALUATE, 1)
        assert row["fine_by_seed"] == np.round(fresh.fine, 2).tolist(), "the problems that lantm eval draws"
        best = examiner(learners.best_model, learners.seed, lengths, 2, EVALUATE, 0).best
        assert row["best_seed"] == best, "chosen on other problems"
        assert (row["coarse"], row["fine"]) == (row["coarse_by_seed"][best], row["fine_by_seed"][best])
        last = examiner(learners.model, learners.seed, lengths, 2, EVALUATE, 1)
        assert final["fine_by_seed"] == np.round(last.fine, 2).tolist()
        assert row["final_fine"] == final["fine_by_seed"][best]
        assert row["problems"] == 64
    assert [row["pass"] for row in result["rows"]] == [True, False]

    metrics = [line for line in trained.folder.metrics() if "test" in line]
    assert result["tests"].keys() == {"1x", "2x"}
    for scale, tests in result["tests"].items():
        assert tests["epochs"] == [2, 4, 6]
        for name in ("coarse", "fine"):
            found = [
                {"epoch": epoch, "seed": seed, "test": scale, name: score}
                for epoch, scores in zip(tests["epochs"], tests[name], strict=True)
                for seed, score in enumerate(scores)
            ]
            expected = [
                {key: line[key] for key in ("epoch", "seed", "test", name)} for line in metrics if line["test"] == scale
            ]
            assert sorted(found, key=str) == sorted(expected, key=str)
    row = result["rows"][0]
    assert row["best_test_fine"] == round(max(map(max, result["tests"]["1x"]["fine"])), 2)
    assert row["epochs_until_solved"] is None
    assert row["epochs_until_solved_by_seed"] == [None] * 4


def test_the_epochs_until_solved(done: Bench) -> None:
    file = done.run / "metrics.jsonl"
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    solved = {(0, 4): 99.0, (0, 6): 10.0, (1, 6): 100.0, (2, 6): 98.9}
    for line in lines:
        if line.get("test") == "1x":
            line["coarse"] = solved.get((line["seed"], line["epoch"]), 0.0)
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    (result,) = done(Watch())
    assert result is not None
    row = result["rows"][0]
    assert row["epochs_until_solved_by_seed"] == [4, 6, None, None]
    assert row["epochs_until_solved"] == 5
    assert row["best_test_coarse"] == 100.0


def test_again(done: Bench) -> None:
    (first,) = done(Watch())
    watch = Watch(stops_after=3)
    assert done(watch, again=True) == [None]
    assert watch.epochs == [1, 2]
    assert done.run.with_name(f"{done.run.name}.before-1").is_dir(), "what was there is kept"
    assert not done.file.exists()
    kept = done.file.with_name(f"{done.file.name}.before-1")
    assert json.loads(kept.read_text()) == json.loads(json.dumps(first))
    watch = Watch()
    (second,) = done(watch)
    assert watch.epochs == [3, 4, 5, 6], "the new training goes on"
    assert second is not None
    assert second["trained"] != {}
    watch = Watch()
    assert done(watch) == [json.loads(done.file.read_text())]
    assert watch.epochs == []


def test_a_newer_training_is_gone_on_with(done: Bench) -> None:
    """As when another study, which shares the training, has made it again."""
    (first,) = done(Watch())
    shutil.rmtree(done.run)
    RunFolder.create(done.run, done.experiment, {"date": "later"})
    watch = Watch(stops_after=3)
    assert done(watch) == [None]
    assert watch.epochs == [1, 2], "though the old result is there"
    assert json.loads(done.file.read_text()) == json.loads(json.dumps(first)), "until there is a new one"


def test_what_is_moved_aside_never_replaces_anything(done: Bench) -> None:
    for number in (1, 2):
        done.run.with_name(f"{done.run.name}.before-{number}").mkdir()
    assert done(Watch(stops_after=0), again=True) == [None]
    assert RunFolder(done.run.with_name(f"{done.run.name}.before-3")).has_checkpoint()


def test_a_result_of_something_else_is_not_taken(done: Bench, trained) -> None:
    done(Watch())
    (cell,) = done.cells(done.request)
    stored = json.loads(done.file.read_text())
    assert cell.matches(stored)
    other = dataclasses.replace(trained.experiment, recipe=dataclasses.replace(trained.experiment.recipe, epochs=7))
    assert not dataclasses.replace(cell, experiment=other).matches(stored)
    assert not dataclasses.replace(cell, scales=(1, 3)).matches(stored)
    assert not dataclasses.replace(cell, request=Request(problems=65)).matches(stored)
    for spoiled in ({}, {"rows": 5}, {"rows": [1]}, {**stored, "experiment": {}}):
        assert not cell.matches(spoiled)


def test_the_number_of_seeds_may_be_another_unless_asked_for(done: Bench, trained) -> None:
    done(Watch())
    stored = json.loads(done.file.read_text())
    done.experiment = dataclasses.replace(trained.experiment, seeds=2)
    (cell,) = done.cells(done.request)
    assert cell.matches(stored)
    (cell,) = done.cells(dataclasses.replace(done.request, seeds=3))
    assert not cell.matches(stored)


def test_a_run_with_other_settings_is_not_gone_on_with(done: Bench, trained) -> None:
    done.experiment = dataclasses.replace(trained.experiment, seeds=3)
    with pytest.raises(LantmError, match="other settings: --again moves it aside"):
        done(Watch())


def test_a_run_folder_without_a_checkpoint_begins_anew(bench: Bench) -> None:
    RunFolder.create(bench.run, bench.experiment, {})
    watch = Watch(stops_after=2)
    assert bench(watch) == [None]
    assert watch.epochs == [1]


def test_stopped_after_training_scores_next_time(done: Bench) -> None:
    watch = Watch(stops_after=1)
    assert done(watch) == [None]
    assert not done.file.exists()


@pytest.mark.parametrize("text", ["", "{", "[1]", "5"])
def test_a_damaged_result_is_named(done: Bench, text: str) -> None:
    done.file.parent.mkdir(parents=True)
    done.file.write_text(text)
    with pytest.raises(LantmError, match=str(done.file)) as caught:
        done(Watch())
    assert "remove it" in str(caught.value)


def test_a_result_as_text() -> None:
    result = {"name": "x", "rows": [{"a": 1}, {"a": None}], "tests": {"1x": [[1.0]]}, "empty": []}
    text = to_text(result)
    assert json.loads(text) == result
    assert len(text.splitlines()) == 2 + 3 + 4, "a line a field, and a line a row"


def test_there_may_be_no_result(tmp_path: pathlib.Path) -> None:
    assert read_result(tmp_path / "nothing.json") is None


def test_from_the_zoo(bench: Bench, trained, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same figures as the run's own seed has, without training."""
    study = Study("small", "", bench.cells)
    shipped = promote(trained.folder, seed=2, scales=(1, 2), problems=64, shelf=tmp_path / "shelf")
    monkeypatch.setattr(zoo, "names", lambda: ["copy-lantm-invnorm"])
    monkeypatch.setattr(zoo, "load", lambda name: shipped)
    watch = Watch()
    ((_, result),) = from_zoo(study, bench.request, watch.conduct())
    assert result["machine"] == "copy-lantm-invnorm"
    shutil.copytree(trained.folder.path, bench.run)
    (own,) = bench(Watch())
    assert own is not None
    for row, other in zip(result["rows"], own["rows"], strict=True):
        assert (row["seeds"], row["best_seed"]) == (1, 2)
        assert (row["coarse"], row["fine"]) == (other["coarse_by_seed"][2], other["fine_by_seed"][2])
        assert row["paper"] == other["paper"]

    monkeypatch.setattr(zoo, "names", lambda: [])
    assert list(from_zoo(study, bench.request, watch.conduct())) == []
    assert watch.said == ["the zoo has no machine for copy lantm-invnorm"]


def test_figures_alone(bench: Bench, trained) -> None:
    """The same training, without what is made for the eye."""
    bench.request = dataclasses.replace(bench.request, bare=True)
    watch = Watch(stops_after=4)
    assert bench(watch) == [None]
    (result,) = bench(Watch())
    assert result is not None
    assert list(RunFolder(bench.run).metrics()) == list(trained.folder.metrics())
    assert not (bench.run / "report.html").exists()
    assert not RunFolder(bench.run).recordings_path.exists()
    bench.request = dataclasses.replace(bench.request, bare=False)
    assert bench(Watch()) == [json.loads(bench.file.read_text())]


def test_steps_that_were_left_out(done: Bench) -> None:
    """Every row has the count so far: the last one is a seed's."""
    metrics = done.run / "metrics.jsonl"
    rows = [json.loads(line) for line in metrics.read_text().splitlines()]
    for row in rows:
        if "skipped" in row and row["seed"] == 2:
            row["skipped"] = row["epoch"] // 2
    metrics.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (result,) = done(Watch())
    assert result is not None
    assert result["steps_without_finite_gradient"] == [0, 0, 3, 0]

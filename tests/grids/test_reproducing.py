"""Reproducing a study: trained once, continued when interrupted, and taken from its record ever after."""

import dataclasses
import json
import pathlib
import shutil
from typing import Any

import pytest
from rich.console import Console
from small_study import NAME, Bench, Watch

from lantm.cli.grid_work import do_jobs
from lantm.errors import LantmError
from lantm.grids import Engine, Event, GridFolder, Request
from lantm.grids.folder import to_text
from lantm.training import RunFolder


def test_interrupted_continued_and_stored(bench: Bench, trained) -> None:
    bench.request = dataclasses.replace(bench.request, bare=False)
    # Asked before the cell and before each epoch: it trains three of six.
    watch = Watch(stops_after=4)
    assert bench(watch) is None
    assert watch.epochs == [1, 2, 3]
    assert watch.states[-1] == "stopped"
    assert not bench.file.exists()
    watch = Watch()
    result = bench(watch)
    assert watch.epochs == [4, 5, 6]
    assert watch.states[-1] == "done"
    assert result is not None
    assert json.loads(bench.file.read_text()) == result
    assert list(RunFolder(bench.run).metrics()) == list(trained.folder.metrics()), "as if never interrupted"
    assert result["training_seconds"] > 0
    assert (bench.run / "report.html").is_file()

    watch = Watch()
    assert bench(watch) == result
    assert watch.events == [], "what is stored is taken"
    shutil.rmtree(bench.run)
    assert bench(watch) == result, "also without its run folder"
    assert watch.events == []


def test_again(done: Bench) -> None:
    first = done()
    watch = Watch(stops_after=3)
    assert done(watch, again=True) is None
    assert watch.epochs == [1, 2]
    assert done.run.with_name(f"{NAME}.before-1").is_dir(), "what was there is kept"
    assert not done.file.exists()
    kept = done.file.with_name(f"{done.file.name}.before-1")
    assert json.loads(kept.read_text()) == first
    watch = Watch()
    second = done(watch)
    assert watch.epochs == [3, 4, 5, 6], "the new training is continued"
    assert second is not None
    assert second["trained"] != {}
    watch = Watch()
    assert done(watch) == second
    assert watch.events == []


def test_a_newer_training_is_continued(done: Bench) -> None:
    """As when another study, which shares the training, has made it again."""
    first = done()
    shutil.rmtree(done.run)
    RunFolder.create(done.run, done.experiment, {"date": "later"})
    watch = Watch(stops_after=3)
    assert done(watch) is None
    assert watch.epochs == [1, 2], "though the old record is there"
    assert json.loads(done.file.read_text()) == first, "until there is a new one"


def test_what_is_moved_aside_never_replaces_anything(done: Bench) -> None:
    for number in (1, 2):
        done.run.with_name(f"{NAME}.before-{number}").mkdir()
    assert done(Watch(stops_after=0), again=True) is None
    assert RunFolder(done.run.with_name(f"{NAME}.before-3")).has_checkpoint()


def test_a_result_of_something_else_is_not_taken(done: Bench, trained) -> None:
    stored = done()
    assert stored is not None
    cell = done.cell
    assert cell.matches(stored)
    other = dataclasses.replace(trained.experiment, recipe=dataclasses.replace(trained.experiment.recipe, epochs=7))
    assert not dataclasses.replace(cell, experiment=other).matches(stored)
    assert not dataclasses.replace(cell, scales=(1, 3)).matches(stored)
    assert not dataclasses.replace(cell, request=Request(problems=65)).matches(stored)
    for spoiled in ({}, {"rows": 5}, {"rows": [1]}, {**stored, "experiment": {}}):
        assert not cell.matches(spoiled)


def test_the_number_of_seeds_may_be_another_unless_asked_for(done: Bench, trained) -> None:
    stored = done()
    assert stored is not None
    done.experiment = dataclasses.replace(trained.experiment, seeds=2)
    assert done.cell.matches(stored)
    done.request = dataclasses.replace(done.request, seeds=3)
    assert not done.cell.matches(stored)
    done.request = dataclasses.replace(done.request, seeds=4)
    assert done.cell.matches(stored)


def test_a_run_with_other_settings_is_not_continued(done: Bench, trained) -> None:
    before = sorted(path.name for path in done.run.iterdir())
    done.experiment = dataclasses.replace(trained.experiment, seeds=3)
    with pytest.raises(LantmError, match="holds a training with other settings: remove it, or move it aside"):
        done.folder.check_run(done.cell.run_name, done.cell.experiment)
    watch = Watch()
    assert done(watch) is None
    assert watch.states == ["running", "failed"]
    assert "holds a training with other settings" in watch.events[-1].message
    assert sorted(path.name for path in done.run.iterdir()) == before


def test_a_run_folder_without_a_checkpoint_begins_anew(bench: Bench) -> None:
    RunFolder.create(bench.run, bench.experiment, {})
    watch = Watch(stops_after=2)
    assert bench(watch) is None
    assert watch.epochs == [1]


def test_stopped_after_training_scores_next_time(done: Bench) -> None:
    seconds = RunFolder(done.run).seconds
    watch = Watch(stops_after=1)
    assert done(watch) is None
    assert not done.file.exists()
    watch = Watch()
    result = done(watch)
    assert result is not None
    assert watch.epochs == []
    assert result["training_seconds"] == seconds, "scoring is no training"


@pytest.mark.parametrize("text", ["", "{", "[1]", "5"])
def test_a_damaged_result_is_named(done: Bench, text: str) -> None:
    done.file.parent.mkdir(parents=True)
    done.file.write_text(text)
    with pytest.raises(LantmError, match=str(done.file)) as caught:
        done()
    assert "remove it" in str(caught.value)


def test_a_result_as_text() -> None:
    result = {"name": "x", "rows": [{"a": 1}, {"a": None}], "tests": {"1x": [[1.0]]}, "empty": []}
    text = to_text(result)
    assert json.loads(text) == result
    assert len(text.splitlines()) == 2 + 3 + 4, "a line per field, and a line per row"


def test_there_may_be_no_result(tmp_path: pathlib.Path) -> None:
    assert GridFolder(tmp_path).record("nothing") is None


def test_figures_alone(bench: Bench, trained) -> None:
    """The same training, without what is made for the eye."""
    assert bench.request.bare
    assert bench(Watch(stops_after=4)) is None
    result = bench()
    assert result is not None
    assert list(RunFolder(bench.run).metrics()) == list(trained.folder.metrics())
    assert not (bench.run / "report.html").exists()
    assert not RunFolder(bench.run).recordings_path.exists()
    bench.request = dataclasses.replace(bench.request, bare=False)
    watch = Watch()
    assert bench(watch) == result
    assert watch.events == []


@pytest.mark.thorough
def test_a_page_that_is_there_is_not_made_again(done: Bench) -> None:
    """As when another study has scored the same training."""
    done.request = dataclasses.replace(done.request, bare=False)
    done()
    page = done.run / "report.html"
    page.write_text("mine")
    done.request = dataclasses.replace(done.request, problems=96)
    result = done()
    assert result is not None
    assert result["rows"][0]["problems"] == 96
    assert page.read_text() == "mine"


class Played(Engine):
    """An engine that tells what it is given to tell."""

    def __init__(self, *states: Any):
        self._states = states

    def run(self, jobs: Any, folder: Any, tell: Any, stop: Any) -> None:
        for state in self._states:
            tell(Event(jobs[0], state))
        self.stopped = stop()


@pytest.mark.parametrize(
    ("states", "status"),
    [
        (("running", "done"), 0),
        (("running", "failed"), 1),
        (("running", "stopped"), 130),
        (("running",), 130),
        ((), 130),
    ],
)
def test_how_jobs_end(bench: Bench, states: tuple[str, ...], status: int) -> None:
    engine = Played(*states)
    outcome = do_jobs([bench.cell], bench.folder, engine, Console(quiet=True), minutes=None)
    assert outcome.status == status
    assert outcome.failed == ([bench.cell] if status == 1 else [])
    assert outcome.stopped == ([bench.cell] if status == 130 else [])
    assert not engine.stopped


def test_jobs_stop_when_their_time_is_over(bench: Bench) -> None:
    engine = Played()
    do_jobs([bench.cell], bench.folder, engine, Console(quiet=True), minutes=1e-9)
    assert engine.stopped

"""The sweep folder and the work in it: only what is missing is done, whatever happened before."""

import json
import pathlib
import shutil
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from tiny_sweeps import TINY

from lantm.errors import LantmError
from lantm.grids import Event, GridFolder, Group, InProcess, Sweep, engine, missing
from lantm.grids.table import labels_of_tests, point_rows, summary_rows
from lantm.training import RunFolder


def do(folder: GridFolder, sweep: Sweep, stop: Callable[[], bool] = lambda: False) -> list[Event]:
    """Does what is missing, and says what happened."""
    events: list[Event] = []
    folder.begin(sweep.to_json())
    InProcess().run(missing(folder, sweep.points(), sweep.pack), folder, events.append, stop)
    return events


def records(folder: GridFolder) -> dict[str, Any]:
    """All records, less what says where and when."""
    found = {path.stem: json.loads(path.read_text()) for path in (folder.path / "records").glob("*.json")}
    return {name: {key: value for key, value in one.items() if key != "made"} for name, one in found.items()}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> GridFolder:
    """A sweep that was never interrupted; not to be changed."""
    folder = GridFolder(tmp_path_factory.mktemp("finished") / "sweep")
    events = do(folder, Sweep.from_json(TINY))
    assert [event.state for event in events] == ["running"] * 7 + ["done"]
    assert [event.epoch for event in events] == [0, 1, 2, 3, 4, 5, 6, 6]
    return folder


@pytest.fixture
def copied(finished: GridFolder, tmp_path: pathlib.Path) -> GridFolder:
    """The same, to be damaged."""
    return GridFolder(shutil.copytree(finished.path, tmp_path / "copied"))


def test_a_record_a_point(finished: GridFolder, tiny_sweep: Sweep) -> None:
    points = tiny_sweep.points()
    found = records(finished)
    assert set(found) == {point.name for point in points}
    for point in points:
        record = found[point.name]
        assert record["experiment"] == json.loads(json.dumps(point.experiment.to_json()))
        (row,) = record["rows"]
        assert (row["scale"], row["problems"], row["seeds"], row["best_seed"]) == ("1x", 32, 1, point.seed)
        assert 0 <= row["coarse"] <= row["fine"] <= 100
        assert (record["diverged"], record["skipped"]) == (False, 0)
        assert record["best_epoch"] in (2, 4, 6)


def test_what_is_done_is_not_done_again(finished: GridFolder, tiny_sweep: Sweep) -> None:
    assert missing(finished, tiny_sweep.points(), 32) == []
    assert Sweep.from_json(finished.asked()) == tiny_sweep


@pytest.mark.parametrize("text", [None, "", "{", "[]", '{"point": "another", "rows": []}'])
def test_a_record_that_is_lost_is_made_again_without_training(
    copied: GridFolder, finished: GridFolder, tiny_sweep: Sweep, text: str | None
) -> None:
    path = copied.path / "records" / f"{tiny_sweep.points()[1].name}.json"
    path.unlink() if text is None else path.write_text(text)
    assert [event.state for event in do(copied, tiny_sweep)] == ["running", "done"], "no epoch"
    assert records(copied) == records(finished)


def test_stopped_in_the_middle_it_goes_on(finished: GridFolder, tiny_sweep: Sweep, tmp_path: pathlib.Path) -> None:
    folder = GridFolder(tmp_path / "sweep")
    asked: list[int] = []

    def stop() -> bool:
        asked.append(1)
        return len(asked) > 5

    assert do(folder, tiny_sweep, stop)[-1].state == "stopped"
    assert records(folder) == {}
    (group,) = missing(folder, tiny_sweep.points(), 32)
    reached = folder.run(group.run_name).last_epoch()
    assert 0 < reached < 6
    events = do(folder, tiny_sweep)
    assert [event.epoch for event in events] == [reached, *range(reached + 1, 7), 6]
    assert records(folder) == records(finished)
    assert do(folder, tiny_sweep, lambda: True) == []


def test_a_larger_sweep_does_only_what_is_new(copied: GridFolder, finished: GridFolder) -> None:
    larger = Sweep.from_json({**TINY, "seeds": 4})
    (group,) = missing(copied, larger.points(), 32)
    assert [(point.seed, point.experiment.recipe.learning_rate) for point in group.points] == [
        (2, 0.01),
        (3, 0.01),
        (2, 0.03),
        (3, 0.03),
    ]
    before = records(copied)
    do(copied, larger)
    after = records(copied)
    assert len(after) == 8
    assert {name: after[name] for name in before} == before


def test_other_problems_are_scored_without_training(copied: GridFolder) -> None:
    events = do(copied, Sweep.from_json({**TINY, "problems": 64}))
    assert [event.state for event in events] == ["running", "done"]
    assert len(records(copied)) == 8


def test_tests_on_hard_problems_are_beside_those_on_random_ones() -> None:
    sweep = Sweep.from_json({**TINY, "seeds": 1, "hard": True, "grid": {"task": ["copy"]}})
    assert list(labels_of_tests(sweep, sweep.points())) == ["1x", "1x hard"]
    without = Sweep.from_json({**TINY, "seeds": 1, "grid": {"task": ["copy"]}})
    assert without.points()[0].name != sweep.points()[0].name


@pytest.mark.thorough
def test_hard_problems_have_columns_of_their_own(tmp_path: pathlib.Path) -> None:
    sweep = Sweep.from_json({**TINY, "seeds": 1, "hard": True, "grid": {"task": ["copy"]}})
    folder, points = GridFolder(tmp_path / "sweep"), sweep.points()
    do(folder, sweep)
    tests = labels_of_tests(sweep, points)
    assert list(tests) == ["1x", "1x hard"]
    rows = point_rows(sweep, points, folder)
    (record,) = records(folder).values()
    assert [row["scale"] for row in record["rows"]] == ["1x", "1x hard"]
    assert [row["fine_1x hard"] for row in rows] == [record["rows"][1]["fine"]]
    (row,) = summary_rows(sweep, rows, tests)
    assert row["best_1x hard"] == record["rows"][1]["coarse"]


def test_a_group_that_fails_is_said_and_tried_again(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sweep = Sweep.from_json({**TINY, "seeds": 8, "grid": {"task": ["copy"]}, "pack": 4})
    folder = GridFolder(tmp_path / "sweep")
    work = engine.work

    def fails(group: Group, *others: Any) -> bool:
        if group.experiment.first_seed == 0:
            raise RuntimeError("out of\nmemory")
        return work(group, *others)

    monkeypatch.setattr(engine, "work", fails)
    assert [event.state for event in do(folder, sweep)] == ["running", "failed", *["running"] * 7, "done"]
    (group,) = missing(folder, sweep.points(), 4)
    assert folder.failure(group.run_name) == "out of memory"
    points = sweep.points()
    (row,) = summary_rows(sweep, point_rows(sweep, points, folder), labels_of_tests(sweep, points))
    assert (row["task"], row["done"], row["seeds"]) == ("copy", 4, 8)
    monkeypatch.undo()
    assert [event.state for event in do(folder, sweep)][-1] == "done"
    assert folder.failure(group.run_name) is None
    assert set(records(folder)) == {point.name for point in sweep.points()}


def test_a_damaged_checkpoint_is_mended_and_said(copied: GridFolder, tiny_sweep: Sweep, finished: GridFolder) -> None:
    shutil.rmtree(copied.path / "records")
    newest = max((copied.path / "runs").glob("*/checkpoints/*"))
    newest.write_bytes(newest.read_bytes()[:100])
    events = do(copied, tiny_sweep)
    assert next(event.message for event in events if event.message).endswith("restore it from a copy")
    assert [event.epoch for event in events if event.state == "running" and not event.message] == [6, 5, 6]
    assert records(copied) == records(finished)


def test_a_run_folder_that_was_never_whole_or_is_another(copied: GridFolder, tiny_sweep: Sweep) -> None:
    shutil.rmtree(copied.path / "records")
    (run,) = (copied.path / "runs").iterdir()
    values = json.loads((run / "experiment.json").read_text())
    values["experiment"]["recipe"]["epochs"] = 7
    (run / "experiment.json").write_text(json.dumps(values))
    (event,) = [event for event in do(copied, tiny_sweep) if event.state == "failed"]
    assert "other settings: remove it" in event.message
    (run / "experiment.json").unlink()
    folder, begun = copied.run_folder(event.job.run_name, event.job.experiment, event.job.for_people)
    assert not begun
    assert folder.experiment() == event.job.experiment
    assert sorted(path.name for path in run.iterdir()) == [".lock", "experiment.json"]


def test_two_processes_do_not_share_a_folder(finished: GridFolder, tmp_path: pathlib.Path) -> None:
    program = """
import pathlib, sys
from lantm.grids import GridFolder
with GridFolder(pathlib.Path(sys.argv[1])).locked(): pass
"""
    command = [sys.executable, "-c", program, str(tmp_path / "sweep")]
    with GridFolder(tmp_path / "sweep").locked():
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        assert ended.returncode
        assert "LantmError: another process works in" in ended.stderr
    assert subprocess.run(command, check=False).returncode == 0, "and let go of, it is free again"


def test_folders_that_are_none(tmp_path: pathlib.Path, tiny_sweep: Sweep) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(LantmError, match="not empty and does not hold a grid"):
        GridFolder(tmp_path).begin(tiny_sweep.to_json())
    with pytest.raises(LantmError, match="not the folder of a sweep"):
        GridFolder(tmp_path).asked()
    (tmp_path / "grid.json").write_text("{")
    with pytest.raises(LantmError, match="cannot be read as JSON"):
        GridFolder(tmp_path).asked()
    (tmp_path / "grid.json").write_text("[]")
    with pytest.raises(LantmError, match="not a JSON object"):
        GridFolder(tmp_path).asked()


def test_how_far_a_group_is(tmp_path: pathlib.Path, tiny_sweep: Sweep) -> None:
    folder = GridFolder(tmp_path)
    (group,) = missing(folder, tiny_sweep.points(), 32)
    assert folder.run(group.run_name).last_epoch() == 0
    run = RunFolder(tmp_path / "runs" / group.run_name)
    run.path.mkdir(parents=True)
    run.append_metrics([{"epoch": epoch, "seed": 0, "loss": 1.5} for epoch in range(1, 400)])
    with open(run.path / "metrics.jsonl", "a") as file:
        file.write('{"epoch": 400, "se')
    assert folder.run(group.run_name).last_epoch() == 399
    (run.path / "metrics.jsonl").write_text("[]\n3\n{}\n")
    assert folder.run(group.run_name).last_epoch() == 0

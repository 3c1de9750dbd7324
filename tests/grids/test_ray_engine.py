"""Ray: the same records as in this process, also when workers die. `benchmarks.reliability` removes nodes too."""

import dataclasses
import json
import pathlib
import re
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import pytest
from ray_stand_in import Actor
from small_study import Bench

from lantm.errors import LantmError
from lantm.grids import Event, GridFolder, InProcess, Request, Sweep, missing, ray_engine
from lantm.grids.ray_engine import RETRIES, RayEngine
from lantm.grids.studies import STUDIES
from lantm.training import RunFolder

# Ray in a process of its own: it leaves threads and warnings behind that are none of ours.
PROGRAM = """
import json, os, pathlib, sys
os.environ["RAY_ENABLE_UV_RUN_RUNTIME_ENV"] = "0"
from lantm.grids import GridFolder, Sweep, missing
from lantm.grids.ray_engine import RayEngine
sweep, folder = Sweep.from_json(json.loads(sys.argv[1])), GridFolder(pathlib.Path(sys.argv[2]))
events = []
folder.begin(sweep.to_json())
RayEngine().run(missing(folder, sweep.points(), sweep.pack), folder, events.append, lambda: False)
print(json.dumps([[event.state, event.epoch, event.message] for event in events]))
"""


def by_ray(sweep: Sweep, folder: pathlib.Path) -> list[Any]:
    command = [sys.executable, "-c", PROGRAM, json.dumps(sweep.to_json()), str(folder)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


def records(folder: pathlib.Path) -> dict[str, Any]:
    found = {path.stem: json.loads(path.read_text()) for path in (folder / "records").glob("*.json")}
    return {name: {key: value for key, value in one.items() if key != "made"} for name, one in found.items()}


@pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed: pip install ray")
def test_the_same_records_as_in_this_process(tiny_sweep: Sweep, tmp_path: pathlib.Path) -> None:
    events = by_ray(tiny_sweep, tmp_path / "ray")
    assert events[-1] == ["done", 6, ""]
    here = GridFolder(tmp_path / "here")
    here.begin(tiny_sweep.to_json())
    InProcess().run(missing(here, tiny_sweep.points(), 32), here, lambda event: None, lambda: False)
    assert records(tmp_path / "ray") == records(tmp_path / "here")
    assert len(records(here.path)) == 4
    assert not (tmp_path / "ray" / "stop").exists()


# What Ray does when things go wrong, without Ray: its part is played by one that does as it is told.


def played(
    actor: Actor, sweep: Sweep, folder: GridFolder, monkeypatch: pytest.MonkeyPatch, engine: RayEngine, stop: bool
) -> list[Event]:
    monkeypatch.setattr(ray_engine, "load_ray", lambda: actor)
    folder.begin(sweep.to_json())
    events: list[Event] = []
    engine.run(missing(folder, sweep.points(), sweep.pack), folder, events.append, lambda: stop)
    assert actor.down
    assert not folder.asked_to_stop(), "the next sweep is not stopped by it"
    return events


def test_a_worker_that_always_dies_is_a_failure(
    tiny_sweep: Sweep, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    actor, folder = Actor(fails=True), GridFolder(tmp_path)
    (event,) = played(actor, tiny_sweep, folder, monkeypatch, RayEngine(cpus=2), stop=False)
    assert (event.state, event.message) == (
        "failed",
        f"its Ray worker died {RETRIES + 1} times: The worker died unexpectedly.",
    )
    assert folder.failure(event.job.run_name) == event.message
    assert (actor.options["num_cpus"], actor.options["num_gpus"], actor.options["max_retries"]) == (2, 0, RETRIES)
    assert actor.options["address"] == "local"


@pytest.mark.parametrize("address", ["127.0.0.1:1", "ray://127.0.0.1:1", "[::1]:1", "127.0.0.1:port"])
def test_an_address_at_which_nothing_listens(
    address: str, tiny_sweep: Sweep, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ray is not even asked: it would go on trying for minutes."""
    actor, folder = Actor(joins=AssertionError("Ray was asked")), GridFolder(tmp_path)
    with pytest.raises(LantmError, match=re.escape(f"cannot join the Ray cluster {address}: ")) as caught:
        played(actor, tiny_sweep, folder, monkeypatch, RayEngine(address), stop=False)
    assert "\n" not in str(caught.value)


def test_workers_are_asked_to_stop(tiny_sweep: Sweep, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sweep = Sweep.from_json({**tiny_sweep.to_json(), "pack": 1})
    reached = iter([3, 3, 3, 5, 5, 5, 5, 5, 5, 5, 5, 5])
    monkeypatch.setattr(RunFolder, "last_epoch", lambda folder: next(reached))
    asked: list[bool] = []

    def attempt(group: Any, folder: GridFolder, tell: Callable[[Event], None], stop: Callable[[], bool]) -> Event:
        asked.append(stop())
        folder.asked_to_stop(True)
        asked.append(stop())
        folder.asked_to_stop(False)
        tell(Event(group, "running", 1, "a checkpoint was damaged"))
        return Event(group, "done", 1)

    monkeypatch.setattr(ray_engine, "attempt", attempt)
    events = played(Actor(), sweep, GridFolder(tmp_path), monkeypatch, RayEngine("auto"), stop=True)
    assert asked == [False, True], "the first had begun before, the others do not begin"
    ended = [event for event in events if event.state != "running"]
    assert [(event.state, event.message) for event in ended] == [
        ("done", "a checkpoint was damaged"),
        *[("stopped", "")] * 3,
    ]
    assert [event.epoch for event in events if event.state == "running"] == [5, 5], "as the metrics on disk say"


def test_a_cell_is_found_again_on_a_worker(text_folder: pathlib.Path) -> None:
    """What is sent to it says where in its study the cell is."""
    requests = {
        "sequences": Request(recipe="robust", only=("copy", "double"), seeds=3),
        "generalisation": Request(scales=(3, 6), problems=64, bare=True),
        "geometries": Request(recipe="robust", only=("disk[radius=8]",), epochs=7),
        "tweaks": Request(quick=True, models=("lantm-invnorm",)),
        "programs": Request(recipe="demo"),
        "language-geometries": Request(data=str(text_folder)),
    }
    for study, request in requests.items():
        cells = STUDIES[study].selected(request, "a command")
        assert len(cells) > 1
        for cell in (cells[0], cells[-1]):
            sent = json.dumps(cell.to_json())
            assert len(sent) < 1000
            assert ray_engine._from_json(json.loads(sent)) == cell


def test_a_study_is_done_by_workers(bench: Bench, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They leave the record that this process would leave, where this process looks for it."""
    monkeypatch.setitem(STUDIES, "small", bench.study)
    monkeypatch.setattr(ray_engine, "load_ray", Actor)
    events: list[Event] = []
    RayEngine().run([bench.cell], bench.folder, events.append, lambda: False)
    assert [(event.job, event.state, event.epoch, event.message) for event in events] == [(bench.cell, "done", 6, "")]
    here = Bench(tmp_path / "here", bench.experiment)
    by_worker, by_us = bench(), here()
    assert by_worker is not None
    assert by_us is not None
    for field in ("study", "cell", "command", "rows", "final", "experiment", "epochs", "best_epochs", "tests"):
        assert by_worker[field] == by_us[field], field


def test_what_the_cluster_does_not_have(
    tiny_sweep: Sweep, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for actor, engine, words in (
        (Actor(), RayEngine(gpus=1), "asks for 1 GPU, the Ray cluster has 0"),
        (Actor(), RayEngine(cpus=8), "asks for 8 CPU, the Ray cluster has 2"),
        (
            Actor(joins=ConnectionError("nobody there\nat all")),
            RayEngine("auto"),
            "Ray cluster auto: nobody there$",
        ),
    ):
        monkeypatch.setattr(ray_engine, "load_ray", lambda actor=actor: actor)
        with pytest.raises(LantmError, match=words):
            engine.run([], GridFolder(tmp_path), lambda event: None, lambda: False)


def test_jobs_that_share_a_training_take_turns(bench: Bench) -> None:
    """A run folder admits one process at a time; others would wait for it in vain."""
    first, second = bench.cell, dataclasses.replace(bench.cell, study="further")
    other = dataclasses.replace(bench.cell, varied="other")
    assert ray_engine._apart([first, second, other], []) == [first, other]
    assert ray_engine._apart([second], [first, other]) == []
    assert ray_engine._apart([second], [other]) == [second]

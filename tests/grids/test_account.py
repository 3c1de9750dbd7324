"""The account of all tables: times of cells and processes, added up over interruptions."""

import dataclasses
import json
import pathlib

import pytest
from small_study import Bench

from lantm.grids import Cell, Event, account
from lantm.grids.account import ACCOUNT, Account
from lantm.paper import preset


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [1000.0]
    monkeypatch.setattr(account.time, "monotonic", lambda: now[0])
    return now


@pytest.fixture
def cells(bench: Bench) -> list[Cell]:
    one = bench.cell
    lstm = preset("copy", "lstm")
    return [one, dataclasses.replace(one, study="further"), dataclasses.replace(one, experiment=lstm)]


def test_interrupted_and_continued(cells: list[Cell], clock: list[float], tmp_path: pathlib.Path) -> None:
    path = tmp_path / ACCOUNT
    first = Account(path, cells, [], "the command")
    assert not first.heed(Event(cells[0], "running"))
    clock[0] += 30
    assert not first.heed(Event(cells[0], "running", 3))
    clock[0] += 10
    assert first.heed(Event(cells[0], "done", 6))
    first.heed(Event(cells[1], "running"))
    clock[0] += 5
    assert first.heed(Event(cells[1], "stopped"))
    clock[0] += 1
    said = first.write(50.0, 40)
    assert json.loads(path.read_text()) == said
    assert (said["complete"], said["total_seconds"], said["gpu_busy_percent"]) == (False, 46, 50)

    clock[0] += 1000  # nobody works
    second = Account(path, cells, cells[:1], "the command")
    for cell in cells[1:]:
        second.heed(Event(cell, "running"))
        clock[0] += 7
        second.heed(Event(cell, "done"))
    said = second.write(100.0, 10)
    assert (said["complete"], said["total_seconds"], said["gpu_busy_percent"]) == (True, 60, 60)
    assert [process["seconds"] for process in said["processes"]] == [46, 14]
    assert {"commit", "device", "date"} <= said["processes"][0].keys()
    assert [(part["study"], part["rows"], part["done"], part["seconds"]) for part in said["studies"]] == [
        ("small", "all others", 1, 40),
        ("further", "all others", 1, 12),
        ("small", "lstm", 1, 7),
    ]


def test_a_new_one_begins_after_a_complete_one(cells: list[Cell], clock: list[float], tmp_path: pathlib.Path) -> None:
    path = tmp_path / ACCOUNT
    Account(path, cells, cells, "").write(None, 0)
    assert json.loads(path.read_text())["complete"]
    clock[0] += 10
    said = Account(path, cells, cells[:2], "").write(None, 0)
    assert (said["complete"], len(said["processes"]), said["gpu_busy_percent"]) == (False, 1, None)
    assert len(Account(path, cells[:2], [], "").write(None, 0)["processes"]) == 1, "other cells, another account"
    path.write_text("{")
    assert len(Account(path, cells, [], "").write(None, 0)["processes"]) == 1

"""The tables of the recipe exact from files of results."""

import json
import pathlib
from typing import Any

import pytest
from written_results import ROOT, lines, result, write

from lantm.grids import Request
from lantm.grids.studies import STUDIES


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(ROOT / "tools")
    import exact_tables

    return exact_tables


def test_how_far_exact_goes(tables: Any, tmp_path: pathlib.Path) -> None:
    none = tables.exact(tmp_path)
    assert none == (
        "Not run yet: `lantm reproduce sequences --recipe exact` and `lantm reproduce generalisation --recipe exact` "
        "do it."
    )
    assert tables.further(tmp_path).startswith("Not run yet: `lantm reproduce generalisation --recipe exact`")
    usual = {"seeds": 2, "coarse": 99.96, "fine": 100.0, "median_coarse": 98.04}
    short = [
        {"scale": scale, "solved": solved, **usual}
        for scale, solved in (("1x", 2), ("1x hard", 1), ("2x", 2), ("2x hard", 0))
    ]
    content = result("copy", "lantm-invnorm", "exact", short)
    # All six tests solved, the four at 1x and 2x, three of them; nothing, and a start that diverged.
    content["best_tests_of_starts"] = [[6101.0, 4090.0, 3101.0], [6100.9, 20.0, None]]
    write(tmp_path, "sequences", "copy-lantm-invnorm-exact", content)
    found = lines(tables.exact(tmp_path))
    assert found[2:] == [
        ["copy", "InvNorm", "2", "2", "1", "2", "0", "-", "-", "-", "-", "-", "-", "6", "3", "2"],
    ], "of what was not run nothing is told"
    assert len(found[0]) == len(found[2])
    long = [
        {"scale": scale, "solved": solved, **usual}
        for scale, solved in (("4x", 2), ("16x", 2), ("16x hard", 1), ("64x", 1), ("64x hard", 0), ("256x", 0))
    ]
    content["rows"] = result("copy", "lantm-invnorm", "exact", long)["rows"]
    write(tmp_path, "generalisation", "copy-lantm-invnorm-exact", content)
    text = tables.exact(tmp_path)
    assert lines(text)[2][3:13] == ["2", "1", "2", "0", "2", "1", "1", "0", "99.9%", "98.0%"]
    assert "results/sequences, 2026-11-15" in text
    assert "results/generalisation, 2026-11-15" in text
    further = lines(tables.further(tmp_path))
    assert further[2:] == [
        ["copy", "100/100 at 4x, 91/100 at 5x", "99.9/100.0", "-", "-", *["99.9/100.0"] * 3, "98.0", "2 of 2"]
    ]


def test_mechanisms(tables: Any, tmp_path: pathlib.Path) -> None:
    assert tables.mechanisms(tmp_path) == "Not run yet: `lantm reproduce mechanisms` does it."
    cells = {cell.labels["task"]: cell for cell in STUDIES["mechanisms"].selected(Request(only=("no-settling",)))}
    for solves_fewer, (task, cell) in enumerate(cells.items()):
        rows = [
            {"scale": scale, "solved": solved - solves_fewer}
            for scale, solved in (("1x", 8), ("1x hard", 8), ("2x", 7), ("2x hard", 6), ("16x", 5))
        ]
        content = result(task, "lantm-invnorm", "exact", rows)
        content["experiment"] = json.loads(json.dumps(cell.experiment.to_json()))
        write(tmp_path, "mechanisms", cell.name, content)
    text = tables.mechanisms(tmp_path)
    head, _, *found = lines(text)
    assert head[0] == "of 8 seeds, those that solve 1x, 2x hard, 16x"
    assert head[-1] == "all five, of 40"
    by_name = {row[0]: row[1:] for row in found}
    assert list(by_name)[:3] == ["all", "none", "settling alone"]
    assert by_name["no settling"] == ["8 6 5", "7 5 4", "6 4 3", "5 3 2", "4 2 1", "30 20 15"]
    assert by_name["no noise"] == ["-"] * 6
    content["experiment"]["machine"]["cell_bound"] = 2.0
    write(tmp_path, "mechanisms", cell.name, content)
    assert "4 2 1 †" in tables.mechanisms(tmp_path)


def test_figures(tables: Any, tmp_path: pathlib.Path) -> None:
    for make in (tables.counting, tables.lines):
        assert make(tmp_path).startswith("Not drawn yet")
    sides = [
        {"recipe": recipe, "task": "addition", "length": 1024, "cells": [[0.0]] * 12, "largest": largest}
        | {"distances": [0.01, distance, 0.02], "wrong": wrong}
        for recipe, largest, distance, wrong in (("robust", 1023.4, 0.4, 7), ("exact", 1.0, 0.031, 0))
    ]
    record = {"figures": {"counting": sides, "lines": sides}, "date": "2026-11-17T10:00:00+00:00", "device": "cpu: x"}
    path = tmp_path / "results" / "exact-figures.json"
    path.parent.mkdir()
    path.write_text(json.dumps(record))
    text = tables.counting(tmp_path)
    assert "](exact-counting.svg)" in text
    assert "while 1,024 symbols are copied: up to 1,023 with `robust`, up to 1 with `exact`." in text
    assert text.endswith("2026-11-17, cpu: x</sub>")
    text = tables.lines(tmp_path)
    assert "`robust` on addition at 1,024: at most 0.4, with 7 symbols wrong; " in text
    assert "`exact` on addition at 1,024: at most 0.031, with no symbols wrong." in text


def test_verified(tables: Any, tmp_path: pathlib.Path) -> None:
    assert tables.verified(tmp_path) == "Not run yet: `python -m benchmarks.verified` does it."
    right, wrong = ({"right": 10 - n, "problems": 10, "wrong": {"nines": n} if n else {}, "seconds": 2} for n in (0, 3))
    row = {"machine": "addition-lantm-invnorm", "length": 1024, "random": right, "hard": wrong}
    (tmp_path / "results").mkdir()
    made = {"rows": [row | {"verified": {"date": "2026-01-02T03", "device": "cpu"}}]}
    (tmp_path / "results" / "verified.json").write_text(json.dumps(made))
    assert "| addition-lantm-invnorm | 1,024 | 10 of 10 | 7 of 10 | nines (3) | 4 s |" in tables.verified(tmp_path)

"""The tables of README and docs/ from files of results: what is there, what is missing, what passes."""

import dataclasses
import json
import pathlib
import sys
from typing import Any

import numpy as np
import pytest
from written_results import ROOT, lines, result, write

from lantm.paper import preset
from lantm.tasks.programs import Programs
from lantm.training import ModelName, TextFiles


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(ROOT / "tools")
    import study_tables

    yield study_tables
    del sys.modules["study_tables"]


def language_settings(model: ModelName, **changes: Any) -> dict[str, Any]:
    usual = preset("text", model)
    machine = dataclasses.replace(usual.machine, **changes)
    text = TextFiles(folder="", digest="0", vocabulary=10_000)
    experiment = dataclasses.replace(usual, first_seed=3, machine=machine, text=text)
    return json.loads(json.dumps(experiment.to_json()))


TESTED = {"best_test_coarse": 100.0, "best_test_fine": 100.0, "epochs_until_solved": 120.0}


def test_nothing_is_run(tables: Any, tmp_path: pathlib.Path) -> None:
    for make in (tables.sequences, tables.generalisation, tables.every_cell, tables.tweaks, tables.programs):
        text = make(tmp_path)
        assert "Not run yet: `lantm reproduce " in text
        assert not lines(text), "no tables of nothing"


def test_a_cell_of_the_sequences(tables: Any, tmp_path: pathlib.Path) -> None:
    paper = {"coarse": 99, "fine": 100}
    rows = [
        {"scale": "1x", "coarse": 99.96, "fine": 100.0, "pass": True, "paper": paper, **TESTED},
        {"scale": "2x", "coarse": 98.04, "fine": 99.9, "pass": False, "paper": paper, **TESTED, "solved": 0},
    ]
    rows[1]["epochs_until_solved"] = None
    write(tmp_path, "sequences", "copy-lantm-softmax-robust", result("copy", "lantm-softmax", "robust", rows))
    text = tables.sequences(tmp_path)
    found = lines(text)
    assert len(found) == 2 + 15
    assert found[2] == ["copy", "InvNorm", "100/100", "100/100", "-", "-", ""]
    assert found[3][2:] == ["100/100", "99/100", "**99.9/100.0**", "98.0/99.9", "7 of 8, 0 of 8"]
    assert text.endswith(
        "<sub>`lantm reproduce sequences`, results/sequences, 2026-11-15, trained on gpu: 1 x NVIDIA H200; "
        "-: not run</sub>"
    )
    full = lines(tables.every_cell(tmp_path))
    assert full[2:] == [
        [
            *["copy", "SoftMax", "robust", "1x", "99/100", "99.96/100.00", "90.00/99.00", "100.00/100.00", "55.55"],
            "7 of 8",
            "120",
            "1.5",
            "pass",
        ],
        [
            *["copy", "SoftMax", "robust", "2x", "99/100", "98.04/99.90", "90.00/99.00", "100.00/100.00", "55.55"],
            "0 of 8",
            "never",
            "1.5",
            "**fail**",
        ],
    ]


def test_further_lengths(tables: Any, tmp_path: pathlib.Path) -> None:
    rows = [{"scale": f"{scale}x", "coarse": 10.0 * scale, "fine": 99.0} for scale in (4, 5, 8)]
    write(tmp_path, "generalisation", "double-lantm-invnorm-paper", result("double", "lantm-invnorm", "paper", rows))
    found = lines(tables.generalisation(tmp_path))
    assert found[3] == ["reverse", "91/98", "12/65", "", *["-"] * 3]
    assert found[5] == ["double", "86/99", "", "21/90", "40.0/99.0", "50.0/99.0", "80.0/99.0"]
    full = lines(tables.every_cell(tmp_path))
    assert full[2][4:8] == ["", "40.00/99.00", "90.00/99.00", ""], "the periodic tests are at 1x and 2x"


def test_further_lengths_leave_exact_to_its_own_table(tables: Any, tmp_path: pathlib.Path) -> None:
    rows = [{"scale": f"{scale}x", "coarse": 100.0, "fine": 100.0} for scale in (4, 5, 8, 16)]
    write(tmp_path, "generalisation", "copy-lantm-invnorm-exact", result("copy", "lantm-invnorm", "exact", rows))
    assert tables.generalisation(tmp_path).startswith("Not run yet")
    assert [row[2:4] for row in lines(tables.every_cell(tmp_path))[2:]] == [
        ["exact", f"{scale}x"] for scale in (4, 5, 8, 16)
    ]


def test_tweaks(tables: Any, tmp_path: pathlib.Path) -> None:
    rows = [{"scale": f"{scale}x", "coarse": 99.0, "fine": 99.5, **TESTED} for scale in (1, 2)]
    cell = result("copy", "lantm-invnorm", "paper", rows)
    write(tmp_path, "tweaks", "copy-lantm-invnorm-power-2-paper", cell)
    write(tmp_path, "tweaks", "copy-lantm-invnorm-paper", cell)
    found = lines(tables.tweaks(tmp_path))[2:]
    assert [row[:3] for row in found] == [["paper", "copy", "as it is"], ["paper", "copy", "power 2"]]
    assert found[0][3:] == ["7 of 8", "120", "7 of 8", "99.0/99.5", "55.5"]


def test_programs(tables: Any, tmp_path: pathlib.Path) -> None:
    row = {"scale": "1x", "coarse": 39.96, "fine": 74.44, "median_fine": 70.0, "pass": True}
    content = result("programs[kinds=loop]", "lantm-invnorm", "paper", [row])
    write(tmp_path, "programs", "programs-kinds-loop--lantm-invnorm-paper", content)
    found = lines(tables.programs(tmp_path))
    assert len(found) == 2 + 6
    assert found[6] == ["small loops", "InvNorm", "0/55", "**39.9/74.4**", "55.5/70.0", "7 of 8"]
    assert found[3][:4] == ["all six kinds", "InvNorm", "39/74", "-"]


@pytest.mark.parametrize(("part", "field"), [("machine", "cells"), ("recipe", "epochs")])
def test_settings_that_have_changed_since_are_marked(
    tables: Any, tmp_path: pathlib.Path, part: str, field: str
) -> None:
    row = {"scale": "1x", "coarse": 39.96, "fine": 74.44, "median_fine": 70.0, "pass": True}
    content = result("programs", "lstm", "paper", [row])
    write(tmp_path, "programs", "programs-lstm-paper", content)
    assert "†" not in tables.programs(tmp_path)
    content["experiment"][part][field] += 1
    write(tmp_path, "programs", "programs-lstm-paper", content)
    text = tables.programs(tmp_path)
    assert lines(text)[2][3] == "**39.9/74.4** †"
    assert text.endswith(
        "-: not run; †: the settings have been changed since, its file has those it was trained with</sub>"
    )


def test_key_spaces(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    monkeypatch.syspath_prepend(ROOT / "tools")
    import geometry_tables

    for make in (geometry_tables.costs, geometry_tables.solved, geometry_tables.scores, geometry_tables.levers):
        assert make(tmp_path).startswith("Not run yet")
    rows = [
        {"scale": scale, "geometry": "disk", "coarse": coarse, "fine": 99.5, "solved": solved}
        for scale, coarse, solved in (("1x", 100.0, 8), ("2x", 97.0, 5), ("4x", 12.0, 0))
    ]
    content = result("copy", "lantm-invnorm", "robust", rows)
    write(tmp_path, "geometries", "copy-lantm-invnorm-disk-robust", content)
    found = {row[0]: row for row in lines(geometry_tables.solved(tmp_path))}
    assert found["`disk`"][1:3] == ["8, 5, 0 of 8", "-"]
    assert found["`sphere`"][1] == "-"
    assert found["`disk`"][-1] == "-"
    scores = lines(geometry_tables.scores(tmp_path))
    assert scores[2] == ["copy", "`disk`", "100.0/99.5", "97.0/99.5", "12.0/99.5", "55.6", "55.6"]
    for task in ("reverse", "bigramFlip", "double", "addition"):
        content = result(task, "lantm-invnorm", "robust", [{**row, "task": task} for row in rows])
        write(tmp_path, "geometries", f"{task}-lantm-invnorm-disk-robust", content)
    found = {row[0]: row for row in lines(geometry_tables.solved(tmp_path))}
    assert found["`disk`"][-1] == "40, 25, 0 of 40"


def test_levers_grow_with_the_distance_as_hyperbolic_space_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "tools")
    import levers

    flat, curved = levers.lever("translation"), levers.lever("disk[radius=8]")
    np.testing.assert_allclose(flat, levers.ERROR, rtol=1e-3)
    # Aside of a geodesic, what is 0.01 apart at its foot is cosh(d / r) times as far apart at the distance d.
    after = 64 * levers.STEP + levers.STEP
    np.testing.assert_allclose(curved[1], levers.ERROR * np.cosh(after / 8), rtol=0.1)


def test_perplexities(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    monkeypatch.syspath_prepend(ROOT / "tools")
    import language_tables

    for make in (language_tables.perplexities, language_tables.speed, language_tables.keys, language_tables.key_spaces):
        assert make(tmp_path).startswith("Not run yet")
    usual = {"perplexity": 121.04, "median_perplexity": 125.0, "seeds": 4, "best_seed": 6, "pass": True}
    scored = {"date": "2026-11-15T10:00:00+00:00", "device": "gpu: 1 x NVIDIA H200"}
    content = {
        "rows": [usual, usual],
        "scored": scored,
        "best_epochs": [9, 8, 7, 6],
        "experiment": language_settings("lstm"),
    }
    write(tmp_path, "language", "lstm", content)
    text = language_tables.perplexities(tmp_path)
    found = lines(text)
    assert found[2] == ["lstm", "130", "124", "121.0", "121.0", "125.0 of 4", "6", "pass, pass"]
    assert found[3][:5] == ["lantm-invnorm", "128", "123", "-", "-"]
    assert text.endswith("[lstm](../results/language/lstm.json) 2026-11-15, gpu: 1 x NVIDIA H200; -: not run</sub>")
    write(tmp_path, "language", "lstm", {**content, "experiment": language_settings("lstm", weight_range=0.1)})
    text = language_tables.perplexities(tmp_path)
    assert lines(text)[2][0] == "lstm †"
    assert "†: the settings have been changed since" in text


def test_key_spaces_of_language(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    monkeypatch.syspath_prepend(ROOT / "tools")
    import language_tables

    rows = [
        {"perplexity": 131.04, "median_perplexity": 133.0, "perplexity_by_seed": [134.96, 131.04]},
        {"perplexity": 121.04, "median_perplexity": 123.0, "perplexity_by_seed": [124.96, 121.04]},
    ]
    scored = {"date": "2026-11-15T10:00:00+00:00", "device": "gpu: 1 x NVIDIA H200"}
    write(
        tmp_path,
        "language-geometries",
        "lantm-invnorm-disk",
        {"rows": rows, "scored": scored, "experiment": language_settings("lantm-invnorm", geometry="disk")},
    )
    text = language_tables.key_spaces(tmp_path)
    assert lines(text)[2:] == [["`disk`", "131.0", "121.0", "123.0", "121.0, 125.0"]]
    assert "[disk](../results/language-geometries/lantm-invnorm-disk.json) 2026-11-15" in text


def test_what_drawing_programs_takes(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    monkeypatch.syspath_prepend(ROOT / "tools")
    import program_tables

    assert program_tables.drawing(tmp_path).startswith("Not run yet")
    row = {
        "model": "lstm",
        "seeds": 8,
        "milliseconds_a_batch": 9.76,
        "drawing_percent": 1.684,
        "problems_a_second": 26226.3,
    }
    record = {"date": "2026-11-15T10:00:00+00:00", "device": "gpu: H200", "note": "beside others", "rows": [row]}
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "data-share-gpu.json").write_text(json.dumps(record))
    text = program_tables.drawing(tmp_path)
    assert lines(text)[2:] == [["gpu", "lstm", "8", "26,226", "9.8", "1.68%"]]
    assert text.endswith("gpu: H200 (beside others)</sub>")


def test_kinds_of_programs(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    monkeypatch.syspath_prepend(ROOT / "tools")
    import program_tables

    assert program_tables.kinds(tmp_path).startswith("Not run yet")
    rows = [
        {"model": model, "recipe": recipe, "kind": kind, "digits": digits, "coarse": 10.4 * digits, "fine": 60.0}
        for model, recipe in (("lantm-invnorm", "robust"), ("lstm", "paper"))
        for kind in ("if", "loop")
        for digits in (2, 4)
    ]
    record = {
        "date": "2026-11-15T10:00:00+00:00",
        "device": "cpu: x",
        "rows": [{**row, "problems": 3200} for row in rows],
    }
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "program-kinds.json").write_text(json.dumps(record))
    text = program_tables.kinds(tmp_path)
    head, _, *found = lines(text)
    assert head == ["kind", "InvNorm, `robust`: 2 digits", "4", "LSTM, `paper`: 2 digits", "4"]
    assert found == [[kind, "21/60", "42/60", "21/60", "42/60"] for kind in ("if", "loop")]
    assert "3,200 fresh programs a figure" in text


def test_places_of_digits(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    monkeypatch.syspath_prepend(ROOT / "tools")
    import program_tables

    assert program_tables.places(tmp_path).startswith("Not run yet")
    shared = {"model": "lstm", "operator": "+", "problems": 1579, "whole": 1.4, "right_end": 100.0}
    rows = [
        {
            **shared,
            "machine": "programs-kinds-loop--lstm",
            "kind": "loop",
            "answer_digits": 3,
            "right": [99.8, 10.4, 91.0],
            "right_sign": 97.3,
        },
        {
            **shared,
            "machine": "programs-lstm",
            "kind": "addition",
            "answer_digits": 2,
            "right": [98.0, 12.0],
            "right_sign": None,
        },
    ]
    record = {"date": "2026-11-16T10:00:00+00:00", "device": "cpu: x", "rows": rows}
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "program-places.json").write_text(json.dumps(record))
    text = program_tables.places(tmp_path)
    head, _, *found = lines(text)
    assert head[2:] == ["answers right", "last digit", "1 before", "2 before", "sign", "end"]
    assert found == [
        ["loop, `+`", "LSTM, loops alone", "1", "100", "10", "91", "97", "100"],
        ["addition, `+`", "LSTM", "1", "98", "12", "", "", "100"],
    ]
    assert "at least 1,579 fresh programs" in text
    assert "(loop 3, addition 2)" in text


def test_digits_are_counted_from_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four answers, the last digit first: 12 with its 1 wrong, -34 with its sign wrong, 5, of another size, and 21."""
    monkeypatch.syspath_prepend(ROOT)
    from benchmarks.program_places import right_by_place

    task = Programs()
    one, two, three, four, five, minus = map(task.alphabet.index, "12345-")
    end = task.end_of_output
    targets = np.array([[two, one, end, end], [four, three, minus, end], [end, end, five, end], [end, one, two, end]]).T
    predicted = np.array([[two, two, end, one], [four, three, end, end], [one] * 4, [one, one, two, end]]).T
    mask = np.array([[True, True, True, False], [True] * 4, [False, False, True, True], [False, True, True, True]]).T
    assert right_by_place(task, predicted, targets, mask) == {
        "whole": 25.0,
        "answer_digits": 2,
        "share_of_answers": 75.0,
        "right": [100.0, 66.7],
        "right_sign": 0.0,
        "right_end": 100.0,
    }


@pytest.fixture
def second_paper(tables: Any) -> Any:
    import second_paper_tables

    yield second_paper_tables
    del sys.modules["second_paper_tables"]


@pytest.mark.thorough
def test_the_second_paper_is_not_run(second_paper: Any, tmp_path: pathlib.Path) -> None:
    assert second_paper.scores(tmp_path, "paper") == "Not run yet: `lantm reproduce second-paper` does it."
    text = second_paper.scores(tmp_path, "exact")
    assert text == "Not run yet: `lantm reproduce second-paper --recipe exact` does it."


def test_a_cell_of_the_second_paper(second_paper: Any, tmp_path: pathlib.Path) -> None:
    paper = {"coarse": 72, "fine": 98}
    rows = [
        {"scale": "1x", "coarse": 99.96, "fine": 100.0},
        {"scale": "2x", "coarse": 88.04, "fine": 99.9, "paper": paper, "approximate": True, "solved": 0},
        {"scale": "4x", "coarse": 0.0, "fine": 12.34, "solved": 0},
    ]
    name = "prioritySort-lantm-invnorm-second"
    write(tmp_path, "second-paper", name, result("prioritySort", "lantm-invnorm", "second", rows))
    found = lines(second_paper.scores(tmp_path, "paper"))
    of_task = {line[1]: line[2:] for line in found if line[0] == "prioritySort"}
    scores = ["99.9/100.0", "88.0/99.9", "0.0/12.3", "55.5", "55.5", "55.5", "7 of 8, 0 of 8, 0 of 8"]
    assert of_task["InvNorm"][:-2] == ["~72/98", *scores]
    assert of_task["InvNorm"][-1] == "90"
    assert of_task["SoftMax, sphere"][0] == "~100/100"
    assert of_task["SoftMax, sphere"][1:-2] == ["-"] * 7
    assert int(of_task["LSTM"][-2].replace(",", "")) > 900_000

"""Files that are whole but say what cannot be: one line, never a traceback."""

import contextlib
import json
import pathlib
import re
from collections.abc import Callable
from typing import Any

import pytest

from lantm import weight_files
from lantm.errors import LantmError
from lantm.grids import GridFolder, Sweep
from lantm.grids.packing import point_record
from lantm.records import make_record
from lantm.trained import load_file, load_run
from lantm.training import RunFolder
from lantm.training.rows import read_rows

WRONG: list[Any] = ["text", None, [], {}, [1], -1.5, True, 10**30, float("nan"), float("inf"), {"a": [None]}]


@pytest.fixture
def machine(trained, tmp_path: pathlib.Path) -> Callable[[dict], pathlib.Path]:
    """A machine's file with other notes, and the digest that belongs to them."""
    best, path = trained.machines.best, tmp_path / "machine.safetensors"
    best.save(path, scores=[], scored={})
    notes, model = weight_files.read_notes(path), best.model()

    def make(changes: dict) -> pathlib.Path:
        weight_files.save(path, model, {**notes, **changes})
        return path

    return make


@pytest.mark.parametrize("field", ["epoch", "seed", "trained", "scored", "scores", "words", "experiment"])
def test_notes_of_machines(machine, field: str) -> None:
    refused = 0
    for value in WRONG:
        path = machine({field: value})
        with contextlib.suppress(LantmError):
            load_file(path)
            refused -= 1
        refused += 1
    assert refused >= len(WRONG) - 2, "of these hardly any is right"


def test_sizes_that_no_computer_has(machine, trained) -> None:
    experiment = trained.machines.best.experiment.to_json()
    for cells, said in ((10**30, "whole numbers go up to"), (2**50, "no computer has memory|another kind"), (7, "as ")):
        path = machine({"experiment": {**experiment, "machine": {**experiment["machine"], "cells": cells}}})
        with pytest.raises(LantmError, match=said):
            load_file(path)


def test_sizes_that_no_number_of_a_computer_has(lantm) -> None:
    said = lantm("train", "copy", "--read-heads", 2**53, "--memory-width", 2**53)
    assert said.status == 2
    assert said.err == "lantm: no computer has memory for a machine of these sizes: lower --cells and the like\n"


HUGE = [("cells", 2**40), ("read_heads", 2**40), ("geometry", "translation-99999999999")]


@pytest.mark.parametrize(("field", "value"), HUGE)
def test_what_counts_with_more_than_32_bits_is_one_line(
    lantm, machine, copy_of_run, trained, tmp_path: pathlib.Path, field: str, value: object
) -> None:
    """JAX would warn of it in two more."""
    experiment = trained.machines.best.experiment.to_json()
    experiment["machine"][field] = value
    path, run = machine({"experiment": experiment}), copy_of_run().path
    stored = json.loads((run / "experiment.json").read_text())
    stored["experiment"]["machine"][field] = value
    (run / "experiment.json").write_text(json.dumps(stored))
    sweep = tmp_path / "sweep.json"
    sweep.write_text(json.dumps({"experiment": {"task": "copy", field: value}}))
    for words in (["info", path], ["info", run], ["train", "--resume", run], ["sweep", "--plan", sweep]):
        said = lantm(*words)
        assert said.status == 2, words
        assert said.err.count("\n") == 1
        assert re.search(
            "no computer has memory for a machine of these sizes|dimension 256 or less|would take more than|another "
            "(kind|experiment)",
            said.err,
        )


def test_lists_of_scores(lantm, machine, tmp_path: pathlib.Path) -> None:
    row = {
        "task": "copy",
        "model": "lstm",
        "scale": "1x",
        "lengths": [2, 4],
        "problems": 32,
        "coarse": 99.5,
        "fine": 100,
    }
    row |= {"median_coarse": 1.0, "median_fine": 2.0, "seeds": 4, "solved": 1, "first_error": None, "more": ["kept"]}
    assert read_rows([row], "here") == [row]
    machine({"scores": [row]})
    assert "99.5/100.0" in lantm("zoo", "--shelf", tmp_path).out
    for field in row.keys() - {"more", "first_error"}:
        right = str if isinstance(row[field], str) else (int, float)
        for value in (value for value in WRONG if not isinstance(value, right) or value != value):
            with pytest.raises(LantmError):
                read_rows([{**row, field: value}], "here")
        with pytest.raises(LantmError, match=f"lacks the field '{field}'"):
            read_rows([{name: value for name, value in row.items() if name != field}], "here")
    for field, value in (("coarse", 100.5), ("fine", -0.5), ("problems", 0)):
        with pytest.raises(LantmError, match="invalid scores"):
            read_rows([{**row, field: value}], "here")


@pytest.mark.parametrize("value", [*WRONG, [{"coarse": "1"}], [{"coarse": 1, "problems": 0}]])
def test_summaries_and_origins(lantm, copy_of_run, value: Any) -> None:
    folder = copy_of_run()
    for content in ({"rows": value, "epoch": 6, "seconds": 1.5}, {"rows": [], "epoch": 6, "seconds": value}):
        (folder.path / "summary.json").write_text(json.dumps(content))
        with contextlib.suppress(LantmError):
            folder.summary()
    stored = json.loads((folder.path / "experiment.json").read_text())
    for provenance in (value, {"device": value}, {"date": value, "commit": value}):
        (folder.path / "experiment.json").write_text(json.dumps({**stored, "provenance": provenance}))
        said = lantm("info", folder.path)
        assert said.status == 0 or (said.status == 2 and "provenance" in said.err and said.err.count("\n") == 1)


def test_lines_of_metrics(copy_of_run, trained) -> None:
    """A line that is none is skipped, wherever it is."""
    folder = copy_of_run()
    lines = [json.dumps({"epoch": value, "seed": 0, "loss": 1.5}) for value in WRONG]
    lines += [json.dumps({"epoch": 1, "seed": value, "loss": 1.5}) for value in WRONG]
    lines += [
        json.dumps({"epoch": 1, "seed": 0, "loss": value}) for value in WRONG if value not in (None, True, "text")
    ]
    lines += [json.dumps({"epoch": 2, "seed": 0, "test": value, "coarse": 5}) for value in WRONG if value != "text"]
    expected = list(trained.folder.metrics())
    with open(folder.path / "metrics.jsonl", "a") as file:
        file.write("\n".join(lines) + "\n")
    found = [row for row in folder.metrics() if row not in ({"epoch": 1, "seed": 0, "loss": -1.5},)]
    assert found == expected
    assert folder.last_epoch() == 1, "the last line that is one"
    load_run(folder)


def test_records_of_points(tmp_path: pathlib.Path) -> None:
    sweep = Sweep.from_json({"experiment": {"task": "copy"}, "seeds": 1})
    (point,), folder = sweep.points(), GridFolder(tmp_path)
    whole = {"point": point.name, "rows": [], "best_epoch": 2, "skipped": 0, "diverged": False}
    folder.write_record(point.name, whole)
    assert point_record(folder, point) == whole
    for field in whole:
        for value in WRONG:
            if (value is True and field == "diverged") or (value == [] and field == "rows"):
                continue
            folder.write_record(point.name, {**whole, field: value})
            assert point_record(folder, point) is None, (field, value)


def test_recordings_that_point_at_nothing(copy_of_run, trained) -> None:
    """The digest is right, and yet a step, a symbol or a memory is one that there is not."""
    folder, source = copy_of_run(), trained.experiment.source()
    path = min(folder.recordings_path.glob("*.safetensors"))
    notes, arrays = weight_files.read_notes(path), weight_files.safetensors.numpy.load_file(path)
    for name in ("inputs", "expected", "predicted", "writes", "answer_start", "steps", "movements.seen"):
        for value in (-1, 30_000):
            weight_files.save(path, {**arrays, name: (0 * arrays[name] + value).astype(arrays[name].dtype)}, notes)
            with pytest.raises(LantmError, match="numbers out of range"):
                list(folder.recordings(source, 0))


def test_fields_that_a_record_does_not_have() -> None:
    from lantm.locks import Holder

    values = {"pid": 1, "host": "here", "since": "now", "more": 3}
    assert make_record(Holder, values, "it", others=True) == Holder(1, "here", "now")
    with pytest.raises(LantmError, match="it has no field 'more'"):
        make_record(Holder, values, "it")
    assert RunFolder(pathlib.Path("nowhere")).seconds == 0.0

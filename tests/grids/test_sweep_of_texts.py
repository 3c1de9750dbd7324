"""A sweep on a text: the same folder, records and tables as on a task, with perplexities."""

import json
import pathlib
import shutil
from typing import Any

import pytest

from lantm.errors import LantmError
from lantm.grids import GridFolder, InProcess, Sweep, missing
from lantm.grids.table import labels_of_tests, point_rows, summary_rows

MACHINE = {"cells": 6, "embedding": 4, "memory_width": 3, "memory_limit": 9, "memory_drop": 5, "weight_range": None}
RECIPE = {"epochs": 2, "batch_size": 5, "steps": 4}


def sweep_on(text_folder: pathlib.Path, **values: Any) -> Sweep:
    shared = {"task": "text", "data": str(text_folder), **MACHINE, **RECIPE}
    return Sweep.from_json({"seeds": [3, 4], "experiment": shared, "grid": {"learning_rate": [0.01, 0.1]}, **values})


@pytest.mark.thorough
def test_a_sweep_of_texts(text_folder: pathlib.Path, tmp_path: pathlib.Path) -> None:
    sweep, folder = sweep_on(text_folder), GridFolder(tmp_path / "sweep")
    points = sweep.points()
    (group,) = missing(folder, points, sweep.pack)
    assert group.experiment.seeds == 4, "seeds and rates share a program"
    states: list[str] = []
    InProcess().run([group], folder, lambda event: states.append(event.state), lambda: False)
    assert states[-1] == "done"
    assert missing(folder, points, sweep.pack) == []
    for point in points:
        record = folder.record(point.name)
        assert record is not None
        assert [(row["scale"], row["best_seed"]) for row in record["rows"]] == [
            ("validation", point.seed),
            ("test", point.seed),
        ]
        assert str(text_folder) not in json.dumps(record)
    tests = labels_of_tests(sweep, points)
    assert tests == {"validation": ("perplexity",), "test": ("perplexity",)}
    rows = point_rows(sweep, points, folder)
    slow, quick = summary_rows(sweep, rows, tests)
    assert [row["learning_rate"] for row in (slow, quick)] == [0.01, 0.1]
    of_quick = [row["perplexity_test"] for row in rows if row["learning_rate"] == 0.1]
    assert quick["best_test"] == min(of_quick) < slow["best_test"]
    assert (quick["done"], quick["solved_test"]) == (2, 0)


def test_a_point_has_the_same_name_wherever_its_text_lies(text_folder: pathlib.Path, tmp_path: pathlib.Path) -> None:
    names = [point.name for point in sweep_on(text_folder).points()]
    elsewhere = shutil.copytree(text_folder, tmp_path / "elsewhere")
    assert [point.name for point in sweep_on(elsewhere).points()] == names
    (elsewhere / "tiny.train.txt").write_text("the head reads its key\n" * 30)
    assert not {point.name for point in sweep_on(elsewhere).points()} & {*names}, "another text"


def test_tasks_and_texts_in_one_sweep(text_folder: pathlib.Path) -> None:
    shared = {"task": "text", "data": str(text_folder), **MACHINE}
    grids = [{name: [value] for name, value in shared.items()}, {"task": ["copy"]}]
    sweep = Sweep.from_json({"seeds": 1, "scales": [1], "grid": grids})
    points = sweep.points()
    assert [point.experiment.task for point in points] == ["text", "copy"]
    assert labels_of_tests(sweep, points).keys() == {"1x", "validation", "test"}


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"experiment": {"task": "text"}}, "a text is needed: give --data FOLDER"),
        ({"experiment": {"task": "text", "data": "nowhere"}}, "there is no folder nowhere"),
        ({"experiment": {"task": "text", "data": "nowhere", "recipe": "robust"}}, "text has only the recipe paper"),
    ],
)
def test_what_does_not_fit_a_text(values: dict[str, Any], words: str) -> None:
    with pytest.raises(LantmError, match=words):
        Sweep.from_json(values).points()

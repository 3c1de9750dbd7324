"""`lantm sweep`: from a file to a table, once; again, only what is missing."""

import csv
import json
import pathlib
from collections.abc import Callable
from io import StringIO

import pytest
from rich.console import Console

from lantm.cli import grid_display
from lantm.cli.grid_display import GridDisplay
from lantm.grids import Event, GridFolder, Sweep, engine, pack

TINY = """
seeds = 2
scales = [1]
problems = 32
[experiment]
lengths = [2, 4]
epochs = 6
batches = 2
batch_size = 4
test_every = 2
test_batches = 2
cells = 6
embedding = 3
memory_width = 3
learning_rate = 0.01
[grid]
task = ["copy"]
learning_rate = [0.01, 0.03]
"""


@pytest.fixture
def file(tmp_path: pathlib.Path) -> pathlib.Path:
    path = tmp_path / "tiny.toml"
    path.write_text(TINY)
    return path


def test_a_sweep_from_its_file_to_its_table(lantm, file: pathlib.Path, tmp_path: pathlib.Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    said = lantm("sweep", file, "--plan")
    assert said.out == "4 points, 4 of them to be trained, as 1 program\n"
    assert not (tmp_path / "runs").exists()

    said = lantm("sweep", file, "--csv", "table.csv", "--json")
    assert said.status == 0
    assert "4 points, 4 of them to be trained, as 1 program, into runs/tiny" in said.err
    assert "running copy-lantm-invnorm-" in said.err
    assert "copy lantm-invnorm translation paper, learning_rate 0.01 0.03 [0/1]" in said.err
    rows = json.loads(said.out)
    assert [(row["learning_rate"], row["seed"], row["done"]) for row in rows] == [
        (0.01, 0, True),
        (0.01, 1, True),
        (0.03, 0, True),
        (0.03, 1, True),
    ]
    with open("table.csv", newline="") as table:
        assert [row["fine_1x"] for row in csv.DictReader(table)] == [str(row["fine_1x"]) for row in rows]

    again = lantm("sweep", file)
    assert again.status == 0
    assert "4 points, 0 of them to be trained" in again.err
    assert "running" not in again.err
    assert again.out.startswith("percent of whole answers right"), "the table alone"
    shown = lantm("sweep", "--show", "runs/tiny", "--json")
    assert json.loads(shown.out) == rows
    table = lantm("sweep", "--show", "runs/tiny").out
    assert [line.split()[:3] for line in table.splitlines() if "copy" in line] == [
        ["copy", "0.01", "2/2"],
        ["copy", "0.03", "2/2"],
    ]


def test_failed_and_stopped(lantm, file: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*arguments: object) -> bool:
        raise MemoryError("[too] much")

    monkeypatch.setattr(engine, "work", fails)
    said = lantm("sweep", file, "--out", tmp_path / "out")
    assert said.status == 1
    assert "failed: copy-lantm-invnorm-" in said.out
    assert "[too] much" in said.out
    assert "1 of 1 jobs failed; rerun to try them again: lantm sweep" in said.out
    monkeypatch.setattr(engine, "work", lambda *arguments: False)
    said = lantm("sweep", file, "--out", tmp_path / "out")
    assert said.status == 130
    assert f"stopped, and saved; rerun to continue: lantm sweep {file} --out" in said.out
    assert lantm("sweep", file, "--out", tmp_path / "out", "--minutes", "1e-9").status == 130


def test_rows_can_be_told_apart_on_a_narrow_terminal() -> None:
    grid = {"model": ["lantm-invnorm", "lantm-softmax"], "geometry": ["translation", "scaling-rotation"]}
    sweep = Sweep.from_json({"experiment": {"task": "copy"}, "seeds": 1, "grid": grid | {"learning_rate": [0.005]}})
    rows = [
        {"task": "copy", "model": model, "geometry": geometry, "learning_rate": rate}
        | {"seeds": 8, "done": 8, "diverged": 0, "best_1x": 100.0, "median_1x": 100.0, "solved_1x": 8}
        for model in grid["model"]
        for geometry in grid["geometry"]
        for rate in (0.005, 0.01)
    ]
    file = StringIO()
    grid_display.show_summary(Console(file=file, width=60), sweep, rows, {"1x": ("coarse", "fine")})
    assert "…" not in file.getvalue()
    lines = file.getvalue().splitlines()
    at = next(line.index("model") for line in lines if "model" in line)
    names = "".join(line[at : at + 6].strip() for line in lines)
    assert all(names.count(model) == 4 for model in grid["model"]), "in more lines if need be"


def test_nothing_is_done_yet(lantm, file: pathlib.Path, tmp_path: pathlib.Path) -> None:
    said = lantm("sweep", file, "--out", tmp_path / "out", "--minutes", "1e-9")
    assert [line.split() for line in said.out.splitlines() if "copy" in line] == [
        ["copy", "0.01", "0/2", "0/0"],
        ["copy", "0.03", "0/2", "0/0"],
    ]


def test_parquet(lantm, file: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "sweep"
    GridFolder(folder).begin(Sweep.from_json({"experiment": {"task": "copy"}, "seeds": 3}).to_json())
    said = lantm("sweep", "--show", folder, "--parquet", tmp_path / "table.parquet")
    parquet = pytest.importorskip("pyarrow.parquet", reason="PyArrow is not installed: pip install pyarrow")
    assert said.status == 0
    rows = parquet.read_table(tmp_path / "table.parquet").to_pylist()
    assert [(row["task"], row["seed"], row["done"]) for row in rows] == [("copy", seed, False) for seed in range(3)]


def test_extras_that_are_not_there(refused, tmp_path: pathlib.Path, file, monkeypatch: pytest.MonkeyPatch) -> None:
    GridFolder(tmp_path / "sweep").begin(Sweep.from_json({"experiment": {"task": "copy"}}).to_json())
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    assert "pip install pyarrow" in refused("sweep", "--show", tmp_path / "sweep", "--parquet", "x")
    assert "pip install ray" in refused("sweep", file, "--engine", "ray", "--out", tmp_path / "new")


def test_the_help_shows_a_file_that_can_be_used(lantm, tmp_path: pathlib.Path) -> None:
    shown = [line for line in lantm("sweep", "--help").out.split("positional")[0].splitlines() if line.startswith("  ")]
    (tmp_path / "shown.toml").write_text("\n".join(shown))
    said = lantm("sweep", tmp_path / "shown.toml", "--plan")
    assert (said.status, said.err) == (0, "")
    assert said.out == "32 points, 32 of them to be trained, as 2 programs\n"


def test_what_cannot_be_trained_or_written_is_known_before(refused, file: pathlib.Path, tmp_path: pathlib.Path) -> None:
    file = file.with_suffix(".json")
    file.write_text(json.dumps({"experiment": {"task": "copy", "cells": 200_000}}))
    assert "this training would take" in refused("sweep", "--plan", file)
    assert "this training would take" in refused("sweep", file, "--out", tmp_path / "out")
    file.write_text(json.dumps({"experiment": {"task": "copy"}, "problems": 10_000_001}))
    assert "give a whole number from 1 to 10,000,000" in refused("sweep", "--plan", file)
    file.write_text(json.dumps({"experiment": {"task": "copy"}}))
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    assert "is a broken link" in refused("sweep", "--plan", file, "--out", tmp_path / "link")
    assert "is a file; give the name of a folder" in refused("sweep", file, "--out", file)


def test_mistakes(refused: Callable[..., str], tmp_path: pathlib.Path, file: pathlib.Path) -> None:
    assert "give a sweep file, or --show FOLDER" in refused("sweep")
    assert "give a sweep file, or --show FOLDER" in refused("sweep", file, "--show", tmp_path)
    assert "is not the folder of a sweep" in refused("sweep", "--show", tmp_path)
    assert "there is no file" in refused("sweep", tmp_path / "no.toml")
    assert "add --engine ray" in refused("sweep", file, "--address", "auto")
    assert "minutes is 0.0" in refused("sweep", file, "--minutes", 0)
    assert "cpus is 0" in refused("sweep", file, "--cpus", 0)
    assert "not empty and does not hold a grid" in refused("sweep", file, "--out", tmp_path)
    file.write_text(TINY.replace("copy", "cpoy"))
    assert "did you mean 'copy'" in refused("sweep", file)


def test_the_live_table(monkeypatch: pytest.MonkeyPatch) -> None:
    sweep = Sweep.from_json(
        {"seeds": 1, "experiment": {"epochs": 10}, "grid": {"task": ["copy"], "cells": [*range(1, 22)]}}
    )
    groups = pack(sweep.points(), 1)
    console = Console(file=StringIO(), force_terminal=True, width=120)
    now = [100.0]
    monkeypatch.setattr(grid_display.time, "monotonic", lambda: now[0])
    with GridDisplay(console, groups) as display:
        display.update(Event(groups[0], "running", 4))
        assert display.left() == 0, "nothing is known yet"
        now[0] += 60
        display.update(Event(groups[0], "running", 5))
        display.update(Event(groups[1], "failed", 0, "no [room]"))
        # A tenth of a group took a minute; 19 and a half are left.
        assert display.left() == pytest.approx(60 * 195)
        shown = Console(file=StringIO(), width=120)
        shown.print(display.table())
        display.update(Event(groups[0], "done", 10))
    text = shown.file.getvalue()  # type: ignore[attr-defined]
    assert "1 running, 1 failed, 19 waiting, about 3:1" in text
    assert "5/10" in text
    assert "and 5 more" in text
    assert "no [room]" in console.file.getvalue()  # type: ignore[attr-defined]


def test_in_a_pipe_it_says_now_and_then_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    sweep = Sweep.from_json({"seeds": 1, "experiment": {"epochs": 10}, "grid": {"task": ["copy"]}})
    (group,) = pack(sweep.points(), 1)
    console = Console(file=StringIO(), width=80)
    now = [100.0]
    monkeypatch.setattr(grid_display.time, "monotonic", lambda: now[0])
    with GridDisplay(console, [group]) as display:
        for epoch in range(1, 10):
            display.update(Event(group, "running", epoch))
            now[0] += 12
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert [line.partition(": ")[2] for line in lines[1:]] == [
        "epoch 4 of 10 (about 0:01:12 left)",
        "epoch 7 of 10 (about 0:00:36 left)",
    ], "each half a minute after the one before"


def test_a_table_that_is_too_wide_is_one_for_each_test(lantm, tmp_path: pathlib.Path) -> None:
    """Nothing is cut off at 80 columns, however many scales there are."""
    asked = {"seeds": 1, "scales": [1, 2, 4, 8, 16], "experiment": {"epochs": 1}}
    asked["grid"] = {"task": ["copy", "bigramFlip"], "model": ["lantm-invnorm", "lantm-softmax"], "cells": [5, 6]}
    GridFolder(tmp_path / "sweep").begin(Sweep.from_json(asked).to_json(), "lantm sweep FILE")
    said = lantm("sweep", "--show", tmp_path / "sweep").out
    assert "\N{HORIZONTAL ELLIPSIS}" not in said
    assert max(map(len, said.splitlines())) <= 80
    assert said.count("bigramFlip") == 4 * 5
    assert all(f"{scale}x" in said for scale in (1, 2, 4, 8, 16))

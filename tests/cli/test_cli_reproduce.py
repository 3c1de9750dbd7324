"""`lantm reproduce` and `lantm zoo` at work, on a study of one small cell."""

import dataclasses
import inspect
import json
import os
import pathlib
import shutil

import pytest
from ray_stand_in import Actor

from lantm.grids import Cell, Request, Study, ray_engine
from lantm.grids.studies import STUDIES
from lantm.trained import zoo
from lantm.training import RunFolder

ROW = {"task", "model", "recipe", "scale", "lengths", "problems", "coarse", "fine", "median_coarse", "seeds", "solved"}


@pytest.fixture
def study(trained, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Study:
    """Its run folder is complete."""

    figures = {"1x": {"coarse": 0, "fine": 0}, "2x": {"coarse": 100, "fine": 100}}

    def cells(request: Request) -> list[Cell]:
        experiment = dataclasses.replace(trained.experiment, recipe_name=request.recipe)
        return [Cell(experiment, figures, request, scales=(1, 2))]

    small = Study("small", "a small one", cells)
    monkeypatch.setitem(STUDIES, "small", small)
    monkeypatch.chdir(tmp_path)
    for name in ("copy-lantm-invnorm-paper", "copy-lantm-invnorm-paper-quick"):
        shutil.copytree(trained.folder.path, tmp_path / "runs" / "reproduce" / "runs" / name)
    return small


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--scales 1000000000", "use up to 1,000,000"),
        ("--problems 10000001", "give a whole number from 1 to 10,000,000"),
        ("--seeds 1000000000", "this training would take"),
        ("--out link", "link: it is a broken link"),
        ("--runs pipe", "pipe: it is a pipe; give the name of a folder"),
    ],
)
def test_what_cannot_be_done_is_known_before(
    refused, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, words: str, said: str
) -> None:
    """Of a table whose training would come first, and take long."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    os.mkfifo(tmp_path / "pipe")
    assert said in refused("reproduce", "sequences", *words.split())


def test_a_table_and_its_file(lantm, study: Study, tmp_path: pathlib.Path) -> None:
    said = lantm("reproduce", "small", "--problems", 32, "--commit", "abc123")
    os.environ.pop("LANTM_COMMIT")
    assert (said.status, said.err) == (0, "")
    running, done, title, *table = said.out.splitlines()
    assert title == "small, recipe paper: ours beside the paper's (lantm-invnorm)"
    assert running.startswith("running copy-lantm-invnorm-paper, copy lantm-invnorm translation paper [0/1]")
    assert done.startswith("done    copy-lantm-invnorm-paper, copy lantm-invnorm translation paper [1/1]")
    assert max(map(len, table)) <= 80
    assert said.out.count("pass") == said.out.count("fail") == 1
    result = json.loads((tmp_path / "results" / "small" / "copy-lantm-invnorm-paper.json").read_text())
    assert result["command"] == "lantm reproduce small --problems 32 --commit abc123"
    assert result["scored"]["commit"] == "abc123"

    said = lantm("reproduce", "small", "--problems", 32, "--json")
    assert (said.status, said.err) == (0, "")
    rows = json.loads(said.out)
    assert rows == result["rows"]
    assert all(row.keys() >= ROW | {"paper", "pass"} for row in rows)


@pytest.mark.thorough
def test_a_quick_one_says_so_and_is_kept_apart(lantm, study: Study, tmp_path: pathlib.Path) -> None:
    said = lantm("reproduce", "small", "--quick", "--problems", 32)
    assert said.status == 0
    assert said.out.startswith("Quick version")
    assert "small, recipe paper, a quick version: ours" in said.out
    assert "pass" not in said.out
    assert not (tmp_path / "results").exists()
    assert (tmp_path / "runs" / "quick" / "small" / "copy-lantm-invnorm-paper-quick.json").is_file()


def test_its_time_is_over(lantm, study: Study, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said = lantm("reproduce", "small", "--again", "--minutes", 1e-9, "--out", "somewhere else")
    assert said.status == 130
    again = "rerun to continue: lantm reproduce small --minutes 1e-09 --out 'somewhere else'\n"
    assert said.out.endswith(f"stopped at copy-lantm-invnorm-paper, and saved; {again}")
    assert not (tmp_path / "somewhere else").exists()


@pytest.mark.thorough
def test_training_is_shown(lantm, study: Study, tmp_path: pathlib.Path) -> None:
    said = lantm("reproduce", "small", "--problems", 32, "--again", "--json")
    assert said.status == 0
    assert "epoch" in said.err
    assert "1x coarse" in said.err
    assert [row["scale"] for row in json.loads(said.out)] == ["1x", "2x"]


@pytest.mark.thorough
def test_on_a_ray_cluster(lantm, study: Study, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same rows as in this process; the folders of runs and of results may lie anywhere."""
    asked = ("reproduce", "small", "--problems", 32, "--json")
    here = json.loads(lantm(*asked).out)
    actor = Actor()
    monkeypatch.setattr(ray_engine, "load_ray", lambda: actor)
    where = ("--runs", "elsewhere", "--out", tmp_path / "by-ray")
    said = lantm(*asked, "--engine", "ray", "--cpus", 2, *where)
    assert said.status == 0, said.err
    assert json.loads(said.out) == here
    assert actor.down
    assert actor.options["num_cpus"] == 2
    assert "done    copy-lantm-invnorm-paper" in said.err
    assert (tmp_path / "by-ray" / "small" / "copy-lantm-invnorm-paper.json").is_file()
    assert RunFolder(tmp_path / "elsewhere" / "runs" / "copy-lantm-invnorm-paper").last_epoch() == 6

    monkeypatch.setattr(ray_engine, "load_ray", lambda: Actor(fails=True))
    said = lantm("reproduce", "small", "--engine", "ray", "--out", "not done")
    assert said.status == 1
    assert "1 of 1 cells failed; rerun to try them again: lantm reproduce small --engine ray" in said.out
    assert "its Ray worker died" in said.out


def test_every_study_is_in_the_help(lantm) -> None:
    text = " ".join(lantm("reproduce", "--help").out.split())
    assert all(f"{study.name}: {study.summary}." in text for study in STUDIES.values())


# The zoo.


@pytest.fixture
def shelf(trained, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, lantm) -> pathlib.Path:
    """The zoo of this test: one machine."""
    path = tmp_path / "shelf"
    said = lantm("zoo", "add", trained.folder.path, "--seed", 2, "--problems", 32, "--scales", 1, 2, "--shelf", path)
    assert (said.status, said.err) == (0, "")
    assert said.out.startswith("added: copy-lantm-invnorm, seed 2: 1x ")
    for function in (zoo.names, zoo.find):
        monkeypatch.setattr(inspect.unwrap(function), "__defaults__", (path,))
    monkeypatch.setattr(zoo, "SHELF", path)
    return path


def test_a_machine_is_listed(lantm, shelf: pathlib.Path) -> None:
    said = lantm("zoo")
    assert (said.status, said.err) == (0, "")
    assert "copy-lantm-invnorm" in said.out
    (notes,) = json.loads(lantm("zoo", "--json").out)
    assert (notes["name"], notes["seed"]) == ("copy-lantm-invnorm", 2)
    assert [row["scale"] for row in notes["scores"]] == ["1x", "2x"]
    assert notes["experiment"]["seeds"] == 1


def test_other_shelves_are_listed(lantm, shelf: pathlib.Path, tmp_path: pathlib.Path) -> None:
    other = tmp_path / "other"
    assert f"there is no folder {other}: lantm zoo add RUN --shelf" in lantm("zoo", "--shelf", other).err
    other.mkdir()
    (other / "mine.safetensors").write_bytes((shelf / "copy-lantm-invnorm.safetensors").read_bytes())
    (notes,) = json.loads(lantm("zoo", "--shelf", other, "--json").out)
    assert (notes["name"], notes["seed"]) == ("mine", 2)


def test_commands_take_its_file(lantm, shelf: pathlib.Path, trained, tmp_path: pathlib.Path) -> None:
    """They say of it what they say of its name, wherever it lies; a checkpoint is not mistaken for one."""
    file = (shelf / "copy-lantm-invnorm.safetensors").rename(tmp_path / "of a friend.safetensors")
    assert lantm("solve", "copy", "1 2").status == 2, "the zoo has it no more"
    flags = ("--problems", 32, "--scales", 1, "--json")
    (row,) = json.loads(lantm("eval", file, *flags).out)
    assert row["fine"] == json.loads(lantm("eval", trained.folder.path, *flags).out)[0]["fine_by_seed"][2]
    assert json.loads(lantm("info", file, "--json").out)["seeds"] == [2]
    assert "only the best weights are stored" in lantm("eval", file, "--weights", "last").err
    checkpoint = next((trained.folder.path / "checkpoints").glob("*.safetensors"))
    assert "is not a machine file: for a checkpoint, give the run folder" in lantm("eval", checkpoint).err


def test_the_one_before_is_shown_too(lantm, shelf: pathlib.Path, trained) -> None:
    said = lantm("zoo", "add", trained.folder.path, "--seed", 1, "--problems", 32, "--scales", 1, 2, "--shelf", shelf)
    before, added = said.out.splitlines()
    assert before.startswith("before: copy-lantm-invnorm, seed 2: 1x ")
    assert added.startswith("added: copy-lantm-invnorm, seed 1: 1x ")


def test_the_one_before_may_have_no_scores(lantm, shelf: pathlib.Path, trained) -> None:
    trained.machines.save(shelf / "copy-lantm-invnorm.safetensors", seed=3)
    said = lantm("zoo", "add", trained.folder.path, "--seed", 1, "--problems", 32, "--scales", 1, "--shelf", shelf)
    assert said.out.splitlines()[0] == "before: copy-lantm-invnorm, seed 3: no scores"


def test_commands_take_its_name(lantm, shelf: pathlib.Path, trained) -> None:
    """They say of it what they say of the run it comes from."""
    flags = ("--problems", 32, "--scales", 1, 2, "--json")
    rows = json.loads(lantm("eval", "copy", *flags).out)
    of_run = json.loads(lantm("eval", trained.folder.path, *flags).out)
    for row, other in zip(rows, of_run, strict=True):
        assert row["fine"] == other["fine_by_seed"][2]
        assert (row["seeds"], row["best_seed"]) == (1, 2)
    answers = [
        json.loads(lantm("solve", *words, "--json").out)
        for words in (("copy", "abc"), (trained.folder.path, "abc", "--seed", 2))
    ]
    assert answers[0] == answers[1]
    facts = json.loads(lantm("info", "copy-lantm-invnorm", "--json").out)
    assert (facts["seeds"], facts["machine"]["cells"], facts["training"]["epochs"]) == ([2], 6, 6)
    assert json.loads(lantm("info", trained.folder.path, "--json").out)["seeds"] == [0, 1, 2, 3]
    assert "copy-lantm-invnorm" in lantm("info").out
    table = lantm("info", trained.folder.path).out
    assert "learning_rate 0.01" in table


def test_a_machine_that_ships_answers(lantm) -> None:
    said = lantm("solve", "copy", "hello, [world]")
    assert said.status == 0
    lines = said.out.splitlines()
    assert lines[2] == "  hello, [world]"
    assert lines[4] == lines[6] == "hello, [world]∎"
    assert lines[-1] == "right: hello, [world]"


def test_a_run_folder_of_that_name_comes_first(
    lantm, shelf: pathlib.Path, trained, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(trained.folder.path, RunFolder(tmp_path / "copy").path)
    assert (
        len(json.loads(lantm("eval", "copy", "--problems", 32, "--scales", 1, 2, "--json").out)[0]["fine_by_seed"]) == 4
    )


def test_the_reproduction_from_the_zoo(lantm, shelf: pathlib.Path, study: Study, tmp_path: pathlib.Path) -> None:
    said = lantm("reproduce", "small", "--from-zoo", "--problems", 32, "--json")
    assert said.status == 0
    rows = json.loads(said.out)
    assert [(row["scale"], row["seeds"], row["best_seed"]) for row in rows] == [("1x", 1, 2), ("2x", 1, 2)]
    assert not (tmp_path / "results").exists()
    (shelf / "copy-lantm-invnorm.safetensors").unlink()
    said = lantm("reproduce", "small", "--from-zoo")
    assert (said.status, said.out) == (0, "the zoo has no machine for copy lantm-invnorm\n")

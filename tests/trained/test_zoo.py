"""The zoo: which machines are on a shelf, and that those that ship do what their notes say."""

import pathlib
import re

import numpy as np
import pytest

from lantm import weight_files
from lantm.cli import solve
from lantm.errors import LantmError
from lantm.evaluation import Scores
from lantm.tasks import TASKS, Task
from lantm.trained import load, load_file, usual_name, zoo


def test_names(shelf: pathlib.Path) -> None:
    softmax = (shelf / "copy-lantm-invnorm.safetensors").rename(shelf / "copy-lantm-softmax.safetensors")
    assert zoo.names(shelf) == ["copy-lantm-softmax"]
    assert zoo.find("copy", shelf) == softmax
    invnorm = shelf / "copy-lantm-invnorm.safetensors"
    invnorm.write_bytes(softmax.read_bytes())
    assert zoo.find("copy", shelf) == invnorm, "it comes first"
    assert zoo.find("copy-lantm-softmax", shelf) == softmax
    assert zoo.find("reverse", shelf) is None
    assert zoo.find("copy", shelf / "nowhere") is None


def test_a_name_that_is_none() -> None:
    with pytest.raises(
        LantmError, match=r"cpoy is not a run folder.* nor is it a machine of the zoo: did you mean 'copy'"
    ):
        load("cpoy")
    with pytest.raises(LantmError, match="did you mean 'copy-lantm-softmax'") as unknown:
        load("copy-lantm-softmx")
    assert len(str(unknown.value)) < 320


def test_tasks_without_a_machine() -> None:
    missing = [task for task in TASKS if task not in zoo.tasks()]
    assert missing == ["oddFirst", "repeatCopy", "prioritySort"]
    for task in missing:
        with pytest.raises(LantmError, match=rf"no machine for {task}: lantm train {task} --out RUN"):
            load(task)
    having, _, lacking = str(solve.Arguments.__doc__).partition("Of the other tasks, train a machine first")
    assert all(task in having for task in zoo.tasks())
    assert all(task in lacking and task not in having for task in missing)


def test_some_ship() -> None:
    assert zoo.find("copy") is not None


@pytest.mark.parametrize("name", zoo.names())
def test_every_machine_that_ships_is_whole_and_says_where_it_comes_from(name: str) -> None:
    machine = load(name)
    assert machine.name == name
    # What follows tells it from the machine that a task's name alone stands for.
    assert f"{name}-".startswith(f"{usual_name(machine.experiment)}-")
    assert isinstance(machine.source, Task)
    assert {row["scale"] for row in machine.notes["scores"]} >= {f"{scale}x" for scale in machine.source.usual_scales}
    for origin in (machine.trained, machine.notes["scored"]):
        assert origin.keys() >= {"lantm", "jax", "device", "date", "commit"}
    assert (zoo.SHELF / f"{name}.safetensors").stat().st_size < 1_000_000


# Every model, and a machine of the recipe robust.
SOME = ("copy-lantm-invnorm-robust", "addition-lantm-softmax", "programs-lstm")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in SOME else pytest.mark.thorough) for name in zoo.names()]
)
def test_every_machine_that_ships_scores_as_its_notes_say(name: str) -> None:
    """On other problems than theirs, within sampling error; lengths are many, since each batch has one."""
    machine = load(name)
    (noted,) = [row for row in machine.notes["scores"] if row["scale"] == "1x"]
    scores = machine.scores((1,), problems=64, batch_size=2, draw=2)["1x"]
    assert isinstance(scores, Scores)
    np.testing.assert_allclose(scores.coarse, [noted["coarse"]], rtol=0, atol=15)
    np.testing.assert_allclose(scores.fine, [noted["fine"]], rtol=0, atol=5)
    if noted["coarse"] == 100:
        assert scores.coarse[0] > 98


def test_the_program_of_the_help_is_answered_rightly() -> None:
    (program,) = re.findall(r'a program for programs\n? *\("(.*?)"', solve.Arguments.__doc__)
    assert load("programs").solve(program).right


def test_the_table_shows_scores_from_elsewhere(lantm, shelf: pathlib.Path) -> None:
    """A scale is a text of its file, and a perplexity that is not finite is stored as null."""
    path = shelf / "copy-lantm-invnorm.safetensors"
    machine = load_file(path)
    row = {"task": "copy", "model": "lstm", "tokens": 5, "seeds": 1, "perplexity": None, "median_perplexity": None}
    weight_files.save(path, machine.model(), machine.notes | {"scores": [row | {"scale": "[/red]"}]})
    said = lantm("zoo", "--shelf", shelf)
    assert said.status == 0
    assert re.search(r"recipe +\[/red\]", said.out)
    assert re.search(r"copy-lantm-invnorm .* -\s", said.out)

"""`lantm view` at work."""

import json
import pathlib
import webbrowser
from collections.abc import Callable

import pytest
from pages import page_data

from lantm.trained import zoo
from lantm.training import RunFolder


def data_of(page: pathlib.Path) -> dict:
    return page_data(page.read_text())


def test_view(lantm, copy_of_run: Callable[[], RunFolder]) -> None:
    folder = copy_of_run()
    said = lantm("view", folder.path)
    assert (said.status, said.err) == (0, "")
    assert said.out.startswith(f"wrote {folder.path / 'view.html'} (0.")
    data = data_of(folder.path / "view.html")
    assert data["title"] == "copy"
    assert data["about"] == "lantm-invnorm on copy, recipe paper"
    assert sorted(machine["name"] for machine in data["machines"]) == [f"seed {seed}" for seed in range(4)]
    problems = data["machines"][0]["problems"]
    assert [problem["name"] for problem in problems] == ["length 4", "length 8", "length 16", "while training"]
    assert [len(problem["inputs"]) for problem in problems[:3]] == [10, 18, 34]
    assert [recorded["epoch"] for recorded in problems[3]["training"]] == [1, 2, 3, 4, 5, 6]
    assert data["chosen"] == [0]
    assert data["first"] == 0


@pytest.mark.thorough
def test_two_runs_side_by_side_on_the_same_problems(
    lantm, trained, copy_of_run: Callable[[], RunFolder], tmp_path: pathlib.Path
) -> None:
    other, out = copy_of_run().path, tmp_path / "new" / "page.html"
    asked = ("view", trained.folder.path, other, "--lengths", 3, 6, "--out", out, "--json")
    said = json.loads(lantm(*asked, "--seeds", 2, 0).out)
    assert said["page"] == str(out)
    assert said["bytes"] == out.stat().st_size
    names = [machine["machine"] for machine in said["machines"]]
    assert names == ["run, seed 2", "run, seed 0", "copy, seed 2", "copy, seed 0"]
    data = data_of(out)
    assert data["title"] == "run and copy"
    assert data["about"] == "lantm-invnorm on copy, recipe paper", "said once"
    assert data["chosen"] == [0, 2], "the first of each"
    for first, second in zip(data["machines"][:2], data["machines"][2:], strict=True):
        assert first["problems"] == second["problems"]
    assert len({machine["machine"]["data"] for machine in data["machines"]}) == 2, "two seeds, each in both runs"
    lantm(*asked, "--draw", 1)
    inputs = data["machines"][0]["problems"][0]["inputs"]
    assert data_of(out)["machines"][0]["problems"][0]["inputs"] != inputs


def test_two_seeds_side_by_side_on_a_problem_of_ones_own(lantm, trained, tmp_path: pathlib.Path) -> None:
    out = tmp_path / "page.html"
    lantm("view", trained.folder.path, "--seeds", 3, 1, "--input", "<b>hi", "--out", out, "--weights", "last")
    data = data_of(out)
    assert data["chosen"] == [0, 1]
    assert [machine["name"] for machine in data["machines"]] == ["seed 3", "seed 1"]
    problem, training = data["machines"][0]["problems"]
    assert training["name"] == "while training"
    assert problem["name"] == "“<b>hi”"
    assert problem["text"] == "<b>hi"
    symbols = data["tasks"][data["machines"][0]["task"]]["symbols"]
    assert [symbols[symbol] for symbol in problem["inputs"][:6]] == ["<s>", *"<b>hi"]
    assert "<b>hi" not in out.read_text()


def test_it_is_opened_on_request(lantm, trained, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    out = tmp_path / "a page.html"
    lantm("view", trained.folder.path, "--lengths", 3, "--out", out, "--open", "--epochs", 0)
    assert len(data_of(out)["machines"][0]["problems"]) == 1
    assert opened == [out.as_uri()]


def test_a_machine_of_the_zoo(lantm, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert lantm("view", "copy", "--lengths", 3).status == 0
    assert [problem["name"] for problem in data_of(tmp_path / "view.html")["machines"][0]["problems"]] == ["length 3"]
    data = data_of(tmp_path / "view.html")
    assert data["title"] == "copy-lantm-invnorm", "its whole name"
    assert len(data["machines"]) == 1


def test_the_whole_zoo(lantm, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine of every task in a page of at most 2 MB; it says what is left out."""
    monkeypatch.chdir(tmp_path)
    said = lantm("view", "--zoo")
    page = tmp_path / "play.html"
    assert page.stat().st_size <= 2_000_000
    data = data_of(page)
    names = [machine["name"] for machine in data["machines"]]
    assert {data["tasks"][machine["task"]]["name"] for machine in data["machines"]} == {
        name.partition("-")[0] for name in zoo.names()
    }
    assert names[0] == "copy-lantm-invnorm"
    left_out = said.out.partition("left out to limit the size: ")[2].splitlines()[0].split(", ")
    assert sorted(names + left_out) == zoo.names()


def test_mistakes(refused: Callable[..., str], trained) -> None:
    run = trained.folder.path
    assert "there is no seed 4: the run has 0 to 3" in refused("view", run, "--seeds", 4)
    assert "lengths up to 2,000, not 2,001" in refused("view", run, "--lengths", 2001)
    assert "lengths up to 2,000, not 3,000" in refused("view", run, "--input", "a" * 3000)
    assert "no problems of length 0" in refused("view", run, "--lengths", 0)
    assert "leave out --lengths" in refused("view", run, "--lengths", 4, "--input", "abc")
    assert "epochs is -1" in refused("view", run, "--epochs", -1)
    assert "draw is -1" in refused("view", run, "--draw", -1)
    assert "is not a run folder" in refused("view", run / "nothing")
    assert "or --zoo for a page of the whole zoo" in refused("view")
    assert "or --zoo for a page of the whole zoo" in refused("view", run, "--zoo")


@pytest.mark.thorough
def test_a_damaged_checkpoint_is_mentioned(lantm, copy_of_run: Callable[[], RunFolder]) -> None:
    folder = copy_of_run()
    (folder.path / "checkpoints" / "epoch-000006.safetensors").write_bytes(b"")
    said = lantm("view", folder.path, "--lengths", 3)
    assert said.status == 0
    assert "warning" in said.err

"""The commands on a text: trained, scored, drawn, asked, swept, and what they say to mistakes."""

import json
import pathlib
import shutil
from contextlib import nullcontext

import numpy as np
import pytest
from pages import page_data
from PIL import Image
from small_texts import MACHINES

from lantm.cli.parse import published
from lantm.trained import load_file, load_run
from lantm.training import RunFolder

FLAGS = (
    "--cells 6 --embedding 4 --memory-width 3 --memory-limit 9 --memory-drop 5 --weight-range None "
    "--learning-rate 0.1 --epochs 3 --batch-size 5 --steps 4 --seeds 2 --first-seed 3"
)


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """The run that the first test makes and the others look at."""
    return tmp_path_factory.mktemp("by-command") / "run"


@pytest.fixture
def copy_of_text(text_folder: pathlib.Path, tmp_path: pathlib.Path) -> pathlib.Path:
    """The text in another folder."""
    return shutil.copytree(text_folder, tmp_path / "elsewhere")


@pytest.fixture
def moved(run_folder: pathlib.Path, tmp_path: pathlib.Path) -> RunFolder:
    """A copy of the run, whose text is no longer where it was."""
    folder = RunFolder(shutil.copytree(run_folder, tmp_path / "moved"))
    values = json.loads((folder.path / "experiment.json").read_text())
    values["experiment"]["text"]["folder"] = "nowhere"
    (folder.path / "experiment.json").write_text(json.dumps(values))
    return folder


def test_train(lantm, text_folder: pathlib.Path, run_folder: pathlib.Path) -> None:
    said = lantm("train", "text", "--data", text_folder, *FLAGS.split(), "--out", run_folder)
    assert (said.status, said.err) == (0, "")
    lines = said.out.splitlines()
    assert lines[:2] == [
        f"training 2 seeds of lantm-invnorm on text, recipe paper, into {run_folder}",
        "on 420 words, validated on 105, 14 different ones",
    ]
    assert [line.split()[0] for line in lines[4:7]] == ["1", "2", "3"]
    assert "validation" in said.out
    assert lines[-1].endswith(f"everything is in {run_folder}; open {run_folder / 'report.html'} in a browser")
    assert max(map(len, lines[2:-1])) <= 80
    rows = json.loads((run_folder / "summary.json").read_text())["rows"]
    tests = [row for row in RunFolder.open(run_folder).metrics() if row.get("test") == "validation"]
    best = min(tests, key=lambda row: row["perplexity"])
    assert [row["scale"] for row in rows] == ["validation", "test"]
    assert rows[0]["perplexity"] == pytest.approx(best["perplexity"], abs=0.001)
    assert [row["best_seed"] for row in rows] == [best["seed"]] * 2, "chosen by validation, also in test"
    assert [row["tokens"] for row in rows] == [105, 77]
    assert (run_folder / "report.html").read_text().startswith("<!DOCTYPE html>")


def test_train_again(lantm, moved: RunFolder, copy_of_text: pathlib.Path) -> None:
    """A complete run, resumed, is scored once more; the text may have moved, but may not have changed."""
    rows = json.loads((moved.path / "summary.json").read_text())["rows"]
    said = lantm("train", "--resume", moved.path, "--data", copy_of_text, "--json")
    assert said.status == 0
    assert json.loads(said.out) == rows == json.loads((moved.path / "summary.json").read_text())["rows"]
    with open(copy_of_text / "tiny.valid.txt", "a") as file:
        file.write("one more line\n")
    for command in (("train", "--resume", moved.path), ("eval", moved.path), ("report", moved.path)):
        said = lantm(*command, "--data", copy_of_text)
        assert (said.status, said.out) == (2, "")
        assert "is not the one that was trained on: name its folder with --data" in said.err


def test_an_interrupted_run_continues(lantm, text_folder, run_folder, tmp_path: pathlib.Path, monkeypatch) -> None:
    """Stopped within an epoch, and resumed: the same perplexities as without a stop."""
    path = tmp_path / "run"
    with monkeypatch.context() as patch:
        answers = iter([False])  # the first call to the device does a few of the 21 pieces of an epoch
        patch.setattr("lantm.cli.train.interruptible", lambda **_: nullcontext(lambda: next(answers, True)))
        said = lantm("train", "text", "--data", text_folder, *FLAGS.split(), "--out", path)
    assert said.status == 130
    assert said.out.endswith(f"stopped after epoch 0 and saved; continue with: lantm train --resume {path}\n")
    assert list(RunFolder.open(path).metrics()) == []
    assert lantm("train", "--resume", path).status == 0
    assert list(RunFolder.open(path).metrics()) == list(RunFolder.open(run_folder).metrics())


def test_eval(lantm, run_folder: pathlib.Path, text_folder: pathlib.Path, tmp_path: pathlib.Path) -> None:
    saved = tmp_path / "new" / "result.json"
    said = lantm("eval", run_folder, "--json", "--save", saved)
    assert said.status == 0
    rows = json.loads(said.out)
    summary = json.loads((run_folder / "summary.json").read_text())["rows"]
    assert [row["perplexity"] for row in rows] == [row["perplexity"] for row in summary]
    record = json.loads(saved.read_text())
    assert record["rows"] == rows
    assert record["text"]["test_tokens"] == 77
    assert record["experiment"]["text"]["folder"] == "", "a folder of one computer is of no use to others"
    assert str(text_folder) not in saved.read_text()
    table = lantm("eval", run_folder, "--weights", "last", "--batch-size", 1)
    assert table.status == 0
    assert "lantm-invnorm on text: last weights of every seed" in table.out
    in_one_column = json.loads(lantm("eval", run_folder, "--batch-size", 1, "--json").out)
    assert in_one_column[0]["perplexity"] != rows[0]["perplexity"], "no column begins without a past but the first"


def test_trace(lantm, run_folder: pathlib.Path, tmp_path: pathlib.Path) -> None:
    """The figures of a stretch of the text, and where the heads go in the whole of it."""
    pytest.importorskip("matplotlib")
    saved = tmp_path / "trace.json"
    flags = ("--out", tmp_path / "figures", "--batch-size", 2, "--save", saved, "--json")
    said = lantm("trace", run_folder, *flags)
    assert said.status == 0
    found = json.loads(said.out)
    files = found.pop("files")
    record = json.loads(saved.read_text())
    assert found.items() <= record.items()
    assert record["command"] == "lantm trace RUN --batch-size 2 --json"
    assert (found["columns"], found["steps"], found["text"]) == (2, 53, "valid")
    assert (found["problem"], found["symbols"]) == ("length 4", 4)
    names = {f"{name}.{suffix}" for name in ("keys", "gates", "answer", "heads") for suffix in ("png", "svg")}
    assert {pathlib.Path(path).name for path in files} == names
    assert {path.name for path in (tmp_path / "figures").iterdir()} == names
    assert (tmp_path / "figures" / "heads.svg").read_text().startswith("<?xml")


@pytest.mark.thorough
def test_trace_of_another_part(lantm, run_folder: pathlib.Path) -> None:
    pytest.importorskip("matplotlib")
    text = lantm("trace", run_folder, "--part", "test", "--batch-size", 2, "--seed", 4, "--length", 6)
    assert (run_folder / "figures" / "length-6" / "heads.png").read_bytes().startswith(b"\x89PNG")
    assert text.out.startswith("text, length 6: ")
    assert "words are wrong" in text.out or "words are right" in text.out
    assert "best weights of seed 4" in text.out
    assert "lantm-invnorm on 39 words in each of 2 columns" in text.out
    assert "norm of write keys" in text.out


def test_solve(lantm, run_folder: pathlib.Path, moved: RunFolder, text_folder: pathlib.Path) -> None:
    """Words in, a guess at every next word out; what the vocabulary lacks is shown as unknown."""
    told = json.loads(lantm("solve", run_folder, "the head zooms", "--json").out)
    assert (told["problem"], told["expected"], told["right"], told["symbols"]) == ("the head zooms", None, None, 4)
    machines = load_run(RunFolder.open(run_folder))
    assert told["seed"] == machines.seeds[machines.index()]
    lines = lantm("solve", run_folder, "the head zooms").out.splitlines()
    assert [line.split(":")[0] for line in lines] == ["after <eos>", "after the", "after head", "after <unk>"]
    assert lines[-1] == f"after <unk>: {told['answer']}"
    assert all(line.split(": ")[1] in machines.source.corpus.words for line in lines)
    assert lantm("solve", moved.path, "the head zooms", "--data", text_folder).out.splitlines() == lines


def test_report_and_view_and_video(lantm, moved: RunFolder, text_folder: pathlib.Path) -> None:
    pytest.importorskip("matplotlib")
    (moved.path / "report.html").unlink()
    assert lantm("report", moved.path, "--data", text_folder).status == 0
    data = page_data((moved.path / "report.html").read_text())
    assert [row["scale"] for row in data["rows"]] == ["validation", "test"]
    assert data["byLength"] is None

    assert lantm("view", moved.path, "--data", text_folder, "--lengths", 6, 12).status == 0
    data = page_data((moved.path / "view.html").read_text())
    assert data["about"] == "lantm-invnorm on text, recipe paper"
    problems = data["machines"][0]["problems"]
    assert [problem["name"] for problem in problems] == ["length 6", "length 12", "while training"]
    assert [recorded["epoch"] for recorded in problems[2]["training"]] == [1, 2, 3]
    inputs, expected = problems[1]["inputs"], problems[1]["expected"]
    assert len(inputs) == len(expected) == 12
    assert inputs[1:] == expected[:-1], "what is to be guessed is read next"

    said = lantm("video", moved.path, "--data", text_folder, "--seed", 4, "--json")
    assert json.loads(said.out)["frames"] == 3
    with Image.open(moved.path / "video-seed-4.gif") as film:
        assert film.n_frames == 3


def test_a_machines_file(lantm, moved: RunFolder, text_folder: pathlib.Path, tmp_path: pathlib.Path) -> None:
    """It holds the words, so that it can be asked; to be scored it needs the text."""
    shelf = tmp_path / "shelf"
    said = lantm("zoo", "add", moved.path, "--data", text_folder, "--seed", 4, "--shelf", shelf)
    assert said.out.startswith("added: text-lantm-invnorm, seed 4: validation ")
    file = shelf / "text-lantm-invnorm.safetensors"
    assert str(text_folder) not in json.dumps(load_file(file).notes)
    told, of_run = (
        json.loads(lantm("solve", *words, "--json").out)
        for words in ((file, "a head"), (moved.path, "a head", "--data", text_folder, "--seed", 4))
    )
    assert told == of_run
    (row, _), (of_run, _) = (
        json.loads(lantm("eval", one, "--data", text_folder, "--json").out) for one in (file, moved.path)
    )
    assert row["perplexity"] == of_run["perplexity_by_seed"][1]
    for command in ("eval", "trace", "view"):
        said = lantm(command, file)
        assert said.status == 2
        assert said.err.count("\n") == 1
        assert "name its folder with --data" in said.err
    facts = json.loads(lantm("info", moved.path, "--data", text_folder, "--json").out)
    assert (facts["task"], facts["seeds"]) == ("text", [3, 4])


def test_where_a_text_lies_is_not_published(tmp_path: pathlib.Path) -> None:
    assert published("eval", ["a run", "--data=/x", "--json"]) == "lantm eval 'a run' --data FOLDER --json"
    asked = ["language", "--data", "/x", "--out", "there", "--runs=here", "--seeds", "2"]
    assert published("reproduce", asked) == "lantm reproduce language --data FOLDER --seeds 2"
    assert published("trace", [str(tmp_path), "--save", "/there"], run=str(tmp_path)) == "lantm trace RUN"
    assert published("trace", ["copy", "--save", "/there"], run="copy") == "lantm trace copy", "a machine of the zoo"


def test_help(lantm) -> None:
    said = lantm("train", "text", "--model", "lstm", "--help")
    assert "--weighting" not in said.out
    words = " ".join(lantm("train", "text", "--help").out.split())
    assert "--steps INT" in words
    assert "(default: adagrad)" in words
    assert "lantm train text --data FOLDER" in words


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("train", "text"), "give --data FOLDER"),
        (("train", "text", "--data", "nowhere"), "there is no folder nowhere"),
        (("train", "text", "--data", "nowhere", "--model", "gru"), "unknown model 'gru'"),
        (("train", "text", "--data", "nowhere", "--model"), "--model: expected one argument"),
        (("train", "text", "--data"), "--data: expected one argument"),
        (("train", "text", "--data", "{text}", "--recipe", "robust"), "text has only the recipe paper"),
        (("train", "text", "--data", "{text}", "--lengths", "2", "4"), "a text has no lengths"),
        (("train", "copy", "--data", "{text}"), "the task copy has no text: leave out --data"),
        (("train", "--resume", "nowhere", "--cells", "3"), "leave out --cells"),
        (("train", "--resume", "nowhere"), "nowhere is not a run folder"),
        (("train", "text", "--data", "{text}", "--vocabulary", "2"), "vocabulary is 2"),
        (("train", "text", "--data", "{text}", "--memory-limit", "None"), "give a memory_limit"),
        (("train", "text", "--data", "{text}", "--batch-size", "100"), "the test text has 77 words"),
        (("eval", "{run}", "--batch-size", "0"), "batch-size is 0"),
        (("eval", "{run}", "--batch-size", "100"), "77 words"),
        (("eval", "{run}", "--data", "nowhere"), "there is no folder nowhere"),
        (("eval", "{run}", "--scales", "2"), "a text has no lengths to score at"),
        (("eval", "{run}", "--task", "copy"), "copy has other symbols than text"),
        (("solve", "{run}", " "), "no words to read"),
        (("trace", "{run}", "--seed", "9"), "there is no seed 9: the run has 3 to 4"),
        (("trace", "{run}", "--batch-size", "0"), "batch-size is 0"),
        (("trace", "{run}", "--part", "end"), "valid"),
        (("trace", "{run}", "--length", "106"), "no 106 words in a row: use 1 to 105"),
        (("view", "{run}", "--lengths", "106"), "no 106 words in a row: use 1 to 105"),
        (("video", "{run}", "--seed", "9"), "not of seed 9"),
        (("reproduce", "language"), "language needs a text: give --data FOLDER"),
        (("reproduce", "language", "--data", "nowhere"), "nowhere: give a folder with train.txt"),
        (("reproduce", "language", "--data", "nowhere", "--scales", "2"), "leave out --recipe, --scales and --hard"),
    ],
)
def test_mistakes(
    refused, run_folder, text_folder, tmp_path, monkeypatch, arguments: tuple[str, ...], reason: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert reason in refused(*(argument.format(text=text_folder, run=run_folder) for argument in arguments))


def test_reproduce(lantm, text_folder: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Trained once, stored, and taken from there; interrupted in between, it continues."""
    monkeypatch.setattr("lantm.paper.presets.text._machine", lambda model: MACHINES[model])
    where = ("--data", text_folder, "--out", tmp_path / "results", "--runs", tmp_path / "runs")
    asked = ("reproduce", "language", *where, "--models", "lstm", "--seeds", "1", "--epochs", "2")
    stopped = lantm(*asked, "--minutes", "0.00001")
    assert stopped.status == 130
    assert "stopped at language-lstm, and saved; rerun to continue: lantm reproduce language" in stopped.out
    said = lantm(*asked, "--json")
    assert said.status == 0
    assert "done    language-lstm, text lstm paper [1/1]" in said.err
    assert "validation" in said.err
    rows = json.loads(said.out)
    assert [(row["scale"], row["paper"], row["pass"]) for row in rows] == [
        ("validation", {"perplexity": 130}, True),
        ("test", {"perplexity": 124}, True),
    ]
    result = json.loads((tmp_path / "results" / "language" / "lstm.json").read_text())
    assert result["rows"] == rows
    assert (result["epochs"], result["tests"]["validation"]["epochs"]) == (2, [1, 2])
    assert np.shape(result["tests"]["validation"]["perplexity"]) == (2, 1)
    assert result["training_seconds"] > 0
    assert str(text_folder) not in json.dumps(result)
    assert result["command"].startswith("lantm reproduce language --data FOLDER --models lstm")
    again = lantm(*asked)
    assert again.status == 0
    assert "epoch" not in again.out
    assert "pass" in again.out
    assert "124" in again.out
    other = lantm(*asked, "--epochs", "3")
    assert other.status == 2
    assert "holds a training with other settings" in other.err


@pytest.mark.thorough
def test_a_sweep(lantm, text_folder: pathlib.Path, tmp_path: pathlib.Path) -> None:
    """Points that differ in the learning rate and the seed are trained as one program."""
    names = [word.removeprefix("--").replace("-", "_") for word in FLAGS.split()[::2]]
    shared = dict(zip(names, FLAGS.split()[1::2], strict=True)) | {"task": '"text"', "data": f'"{text_folder}"'}
    for name in ("learning_rate", "seeds", "first_seed", "weight_range"):
        shared.pop(name)
    file = tmp_path / "text.toml"
    experiment = "\n".join(f"{name} = {value}" for name, value in shared.items())
    file.write_text(f"seeds = 2\n[experiment]\n{experiment}\n[grid]\nlearning_rate = [0.1, 0.01]\n")
    said = lantm("sweep", file, "--out", tmp_path / "sweep", "--json")
    assert said.status == 0
    assert "4 points, 4 of them to be trained, as 1 program," in said.err
    rows = json.loads(said.out)
    assert [(row["learning_rate"], row["seed"], row["done"]) for row in rows] == [
        (0.1, 0, True),
        (0.1, 1, True),
        (0.01, 0, True),
        (0.01, 1, True),
    ]
    best = {
        rate: min(row["perplexity_validation"] for row in rows if row["learning_rate"] == rate) for rate in (0.1, 0.01)
    }
    assert best[0.1] < best[0.01] < 14.5, "there are 14 words"
    table = [line.split() for line in lantm("sweep", "--show", tmp_path / "sweep").out.splitlines() if "text" in line]
    assert [line[:4] for line in table] == [["text", str(rate), "2/2", f"{best[rate]:.1f}"] for rate in (0.1, 0.01)]
    assert all("solved" not in " ".join(line) for line in table)
    records = list((tmp_path / "sweep" / "records").iterdir())
    assert len(records) == 4
    assert all(str(text_folder) not in record.read_text() for record in records)

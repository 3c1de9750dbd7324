"""`lantm language` and `lantm reproduce language` at work, and what they say to mistakes."""

import dataclasses
import json
import pathlib
from collections.abc import Callable

import pytest
from lantm.cli.language import COMMANDS
from lantm.experiments import STUDIES, Request, account, language_machine
from lantm.experiments.studies import language
from lantm.experiments.studies.language import LanguageCell
from small_texts import MACHINES

from lantm.cli.parse import published
from lantm.training import RunFolder

FLAGS = (
    "--cells 6 --embedding 4 --memory-width 3 --memory-limit 9 --memory-drop 5 --weight-range None "
    "--learning-rate 0.1 --epochs 3 --batch-size 5 --steps 4 --seeds 2 --first-seed 3"
)


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """The run that the first test makes and the others look at."""
    return tmp_path_factory.mktemp("by-command") / "run"


def test_train(lantm, text_folder: pathlib.Path, run_folder: pathlib.Path) -> None:
    said = lantm("language", "train", text_folder, *FLAGS.split(), "--out", run_folder)
    assert (said.status, said.err) == (0, "")
    lines = said.out.splitlines()
    assert lines[:2] == [
        f"training 2 seeds of lantm-invnorm into {run_folder}",
        "on 420 words, validated on 105, 14 different ones",
    ]
    assert [line.split()[0] for line in lines[4:7]] == ["1", "2", "3"]
    assert "validation" in said.out
    assert f"everything is in {run_folder}" in lines[-1]
    assert max(map(len, lines[2:-1])) <= 80
    rows = json.loads((run_folder / "summary.json").read_text())["rows"]
    metrics = list(RunFolder.open(run_folder).metrics())
    best = min(metrics, key=lambda row: row["validation_perplexity"])
    assert rows[0]["perplexity"] == pytest.approx(best["validation_perplexity"], abs=0.001)
    assert [row["best_seed"] for row in rows] == [best["seed"]] * 2, "chosen by validation, also in test"
    assert [row["tokens"] for row in rows] == [105, 77]


def test_train_again(lantm, run_folder: pathlib.Path, text_folder: pathlib.Path) -> None:
    """A complete run, resumed, is scored once more; standard output is JSON and nothing else."""
    said = lantm("language", "train", "--resume", run_folder, "--data", text_folder, "--json")
    assert said.status == 0
    assert json.loads(said.out) == json.loads((run_folder / "summary.json").read_text())["rows"]


def test_eval(lantm, run_folder: pathlib.Path, tmp_path: pathlib.Path) -> None:
    saved = tmp_path / "new" / "result.json"
    said = lantm("language", "eval", run_folder, "--json", "--save", saved)
    assert said.status == 0
    rows = json.loads(said.out)
    summary = json.loads((run_folder / "summary.json").read_text())["rows"]
    assert [row["perplexity"] for row in rows] == [row["perplexity"] for row in summary]
    record = json.loads(saved.read_text())
    assert record["rows"] == rows
    assert "data" not in record["experiment"], "a folder of one computer is of no use to others"
    assert record["text"]["test_tokens"] == 77
    table = lantm("language", "eval", run_folder, "--weights", "last", "--batch-size", 1)
    assert table.status == 0
    assert "perplexity with the last weights" in table.out


def test_keys(lantm, run_folder: pathlib.Path, tmp_path: pathlib.Path) -> None:
    pytest.importorskip("matplotlib")
    saved = tmp_path / "keys.json"
    said = lantm("language", "keys", run_folder, "--out", tmp_path / "k", "--batch-size", 2, "--save", saved, "--json")
    assert said.status == 0
    found = json.loads(said.out)
    assert found.items() <= json.loads(saved.read_text()).items()
    assert (found["columns"], found["steps"], found["text"]) == (2, 53, "valid")
    assert (tmp_path / "k.svg").read_text().startswith("<?xml")
    text = lantm("language", "keys", run_folder, "--batch-size", 2, "--seed", 4)
    assert (run_folder / "figures" / "keys.png").read_bytes().startswith(b"\x89PNG")
    assert "norm of write keys" in text.out


def test_where_a_text_lies_is_not_published() -> None:
    assert (
        published("language eval", ["a run", "--data=/x", "--json"])
        == "lantm language eval 'a run' --data FOLDER --json"
    )
    asked = ["language", "--data", "/x", "--out", "there", "--runs=here", "--seeds", "2"]
    assert published("reproduce", asked) == "lantm reproduce language --data FOLDER --seeds 2"


def test_help(lantm) -> None:
    for arguments in ((), ("--help",), ("help",)):
        said = lantm("language", *arguments)
        assert (said.status, said.err) == (0, "")
        assert all(f"  {command}" in said.out for command in COMMANDS)
    for command in COMMANDS:
        said = lantm("language", command, "--help")
        assert said.out.startswith(f"usage: lantm language {command}")
        assert max(map(len, said.out.splitlines())) <= 80
    assert "--weighting" not in lantm("language", "train", "--model", "lstm", "--help").out


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("dance",), "unknown command 'language dance': known are train, eval, keys"),
        (("train",), "FOLDER is missing"),
        (("train", "nowhere"), "there is no folder nowhere"),
        (("train", "nowhere", "--model", "gru"), "unknown model 'gru'"),
        (("train", "nowhere", "--model"), "--model: expected one argument"),
        (("train", "--resume", "nowhere", "--cells", "3"), "leave out --cells"),
        (("train", "--resume", "nowhere"), "nowhere is not a run folder"),
        (("train", "{text}", "--vocabulary", "2"), "vocabulary is 2"),
        (("train", "{text}", "--memory-limit", "None"), "give a memory_limit"),
        (("train", "{text}", "--batch-size", "100"), "the test text has 77 words"),
        (("eval", "{run}", "--batch-size", "0"), "batch-size is 0"),
        (("eval", "{run}", "--data", "nowhere"), "there is no folder nowhere"),
        (("keys", "{run}", "--seed", "9"), "has no seed 9: it has 3 to 4"),
        (("keys", "{run}", "--batch-size", "0"), "batch-size is 0"),
    ],
)
def test_mistakes(lantm, run_folder, text_folder: pathlib.Path, arguments: tuple[str, ...], reason: str) -> None:
    given = [argument.format(text=text_folder, run=run_folder) for argument in arguments]
    said = lantm("language", *given)
    assert (said.status, said.out) == (2, "")
    assert said.err.startswith("lantm: ")
    assert said.err.count("\n") == 1
    assert reason in said.err


def test_other_commands_say_what_kind_it_is(lantm, run_folder: pathlib.Path) -> None:
    said = lantm("eval", run_folder)
    assert said.status == 2
    assert "another kind (language, not task)" in said.err


def test_reproduce(lantm, text_folder: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Trained once, stored, and taken from there; a stop in between is resumed."""
    monkeypatch.setattr(language, "language_machine", lambda model: MACHINES[model])
    where = ("--data", text_folder, "--out", tmp_path / "results", "--runs", tmp_path / "runs")
    asked = ("reproduce", "language", *where, "--models", "lstm", "--seeds", "1", "--epochs", "2")
    stopped = lantm(*asked, "--minutes", "0.00001")
    assert stopped.status == 130
    said = lantm(*asked, "--json")
    assert said.status == 0
    assert "epoch 2/2" in said.err
    rows = json.loads(said.out)
    assert [(row["scale"], row["paper"], row["pass"]) for row in rows] == [
        ("validation", {"perplexity": 130}, True),
        ("test", {"perplexity": 124}, True),
    ]
    result = json.loads((tmp_path / "results" / "language" / "lstm.json").read_text())
    assert result["rows"] == rows
    assert (result["epochs"], len(result["tests"])) == (2, 2)
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


def test_key_spaces_of_language(text_folder: pathlib.Path) -> None:
    """The paper's machine shares its training with the table of perplexities; the disk has one of its own."""
    request = Request(data=text_folder)
    plane, disk = STUDIES["language-geometries"].selected(request)
    assert plane.run_name in {cell.run_name for cell in STUDIES["language"].selected(request)}
    assert disk.name == "lantm-invnorm-disk"
    assert (plane.labels["geometry"], disk.labels["geometry"]) == ("translation", "disk")
    assert isinstance(disk, LanguageCell)
    assert disk.experiment.machine == dataclasses.replace(plane.experiment.machine, geometry="disk")


def test_reproduce_fails_where_it_should(language_row: Callable[..., dict]) -> None:
    assert language_row(123.49)["pass"] is True
    assert language_row(123.5)["pass"] is False
    assert language_row(None)["pass"] is False
    assert language_row(80.0, quick=True)["pass"] is None


@pytest.fixture
def language_row(text_folder: pathlib.Path) -> Callable[..., dict]:
    def row(perplexity: float | None, quick: bool = False) -> dict:
        request = language.Request(data=text_folder, quick=quick)
        cell = language.LANGUAGE.selected(request)[0]
        assert cell.labels["model"] == "lantm-invnorm"
        cell.check()
        assert cell.score_shipped() is None
        assert not cell.matches({})
        return cell._beside_the_paper({"scale": "test", "perplexity": perplexity})

    return row


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ((), "language needs a text: give --data FOLDER"),
        (("--data", "nowhere"), "there is no folder nowhere"),
        (("--data", "nowhere", "--scales", "2"), "leave out --recipe and --scales"),
    ],
)
def test_reproduce_mistakes(lantm, arguments: tuple[str, ...], reason: str) -> None:
    said = lantm("reproduce", "language", *arguments)
    assert (said.status, said.out) == (2, "")
    assert reason in said.err


def test_the_papers_machines() -> None:
    lstm = account(language_machine("lstm"), 10_000)
    assert lstm.ours + lstm.second_bias == 4_047_632, "the paper's count"
    for model in ("lantm-invnorm", "lantm-softmax"):
        machine = language_machine(model)
        assert f"lantm-{machine.weighting}" == model
        assert (machine.cells, machine.embedding, machine.memory_width) == (128, 256, 100)
        assert (machine.memory_limit, machine.memory_drop) == (100, 60)
        assert (machine.weight_range, machine.forget_bias, machine.write_gate_bias) == (0.008, 1.0, -10.0)
        assert machine.weight_range_of == ("embedding", "controller", "heads"), "the output starts as usual"
        assert not machine.normalise_steps

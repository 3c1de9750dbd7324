"""A run on programs from the command line: trained, scored, asked, reported."""

import json
import pathlib

import pytest

from lantm.cli import main

FLAGS = "--cells 4 --embedding 3 --epochs 1 --batches 1 --batch-size 4 --test-batches 1 --seeds 1 --lengths 1 2"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    path = tmp_path_factory.mktemp("programs") / "run"
    assert main(["train", "programs", "--model", "lstm", *FLAGS.split(), "--out", str(path)]) == 0
    return path


def test_answers(lantm, run: pathlib.Path) -> None:
    told = json.loads(lantm("solve", run, "b = 13; for x in range(2): b -= 68; print(b)", "--json").out)
    assert (told["expected"], told["symbols"], told["right"]) == ("-123", 5, False)
    shown = lantm("solve", run, "f=31;print(f-29)").out.splitlines()
    assert shown[:6] == ["problem", "f=31", "print((f-29))", "=", "∎2", "LSTM prediction"]


@pytest.mark.parametrize(
    ("program", "complaint"),
    [
        ("print(8/2)", "lantm: a program cannot have '/' after 'print((8': expected '*'"),
        ("__import__('os').getcwd()", "lantm: a program cannot have '__import__' at the start: expected 'print'"),
        ("", "lantm: there is no program: write one such as print((5*123))"),
        ("(" * 5000, "lantm: programs have up to 1,000 characters, not 5,000"),
    ],
)
def test_what_is_no_program(lantm, run: pathlib.Path, program: str, complaint: str) -> None:
    said = lantm("solve", run, program)
    assert said.status == 2
    assert said.err.startswith(complaint)
    assert said.err.count("\n") == 1


def test_scores(lantm, run: pathlib.Path) -> None:
    (row,) = json.loads(lantm("eval", run, "--problems", 32, "--json").out)
    assert (row["scale"], row["lengths"], row["problems"]) == ("1x", [2, 2], 32)
    said = lantm("eval", run, "--scales", 2)
    assert said.status == 2
    assert "no programs at scale 2" in said.err
    assert "up to 7" in lantm("eval", run, "--lengths", 8).err


def test_there_is_a_report(run: pathlib.Path) -> None:
    assert (run / "report.html").is_file()

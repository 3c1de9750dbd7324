"""Tables and progress in 80 columns."""

import dataclasses
import io

import numpy as np
import pytest
from rich.console import Console

from lantm.cli.output import show
from lantm.cli.progress import TrainingDisplay
from lantm.evaluation import Measured, Perplexity, Scores
from lantm.paper import preset
from lantm.report import score_table
from lantm.tasks import Lengths
from lantm.trained import load, zoo
from lantm.training import EpochReport, Experiment, Progress, score_row, score_rows

EXPERIMENT = dataclasses.replace(preset("bigramFlip[unit=bigrams]", "lantm-invnorm"), seeds=128)
TEXT = dataclasses.replace(preset("text", "lantm-softmax"), seeds=3)
SCORES = Scores(Lengths(2, 64), np.array([100.0, 50, 0]), np.array([100.0, 75, 1]), np.zeros(3), problems=1)


def scores(low: int, high: int, problems: int, coarse: float, first: float) -> Scores:
    seeds = np.full(128, coarse)
    return Scores(Lengths(low, high), seeds, np.full(128, 100.0), np.full(128, first), problems)


def test_the_widest_table_fits() -> None:
    rows = [
        score_row(EXPERIMENT, "1x", scores(2, 32, 3200, 100.0, np.nan)),
        score_row(EXPERIMENT, "0.0781x", scores(10_256, 10_256, 1_000_000, 98.76, 1.0)),
    ]
    file = io.StringIO()
    Console(file=file, width=80).print(score_table(rows, "best weights of every seed, on fresh problems"))
    text = file.getvalue()
    assert max(map(len, text.splitlines())) <= 80
    assert "…" not in text
    assert "lantm-invnorm on bigramFlip[unit=bigrams]: best weights" in text, "brackets are not taken for markup"
    cells = [line.split() for line in text.splitlines() if line.strip().startswith(("1x", "0.0781x"))]
    assert cells == [
        ["1x", "2-32", "3,200", "100.0%", "100.0%", "100.0%", "100.0%", "128/128", "none"],
        ["0.0781x", "10256", "1,000,000", "98.8%", "100.0%", "98.8%", "100.0%", "0/128", "at", "100%"],
    ]


@pytest.mark.parametrize("width", [80, 60, 40])
def test_nothing_is_cut_off_on_a_narrow_terminal(width: int) -> None:
    """Lines are longer than it then, and the terminal wraps them."""
    file = io.StringIO()
    rows = [score_row(EXPERIMENT, "2x hard", scores(33, 64, 3200, 98.76, 0.5))]
    show(Console(file=file, width=width), score_table(rows, "best weights of every seed"))
    (line,) = (line for line in file.getvalue().splitlines() if "98.8%" in line)
    assert line.split() == ["2x", "hard", "33-64", "3,200", "98.8%", "100.0%", "98.8%", "100.0%", "0/128", "at", "50%"]


def test_hard_problems_take_two_lines_where_they_must() -> None:
    rows = [score_row(EXPERIMENT, "0.0781x hard", scores(10_256, 10_256, 1_000_000, 98.76, 1.0))]
    file = io.StringIO()
    Console(file=file, width=80).print(score_table(rows, "best weights of every seed"))
    lines = file.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    assert "…" not in file.getvalue()
    assert [line.split()[:2] for line in lines if "0.0781x" in line] == [["0.0781x", "10256"]]
    assert [line.split() for line in lines if "hard" in line] == [["hard"]]


def test_the_list_of_the_zoo_is_whole_on_a_narrow_terminal(lantm, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = lantm("zoo").out.splitlines()
    monkeypatch.setenv("COLUMNS", "50")
    lines = lantm("zoo").out.splitlines()
    for name in zoo.names():
        (before,), (line,) = ([line for line in listed if line.split()[:1] == [name]] for listed in (whole, lines))
        assert before.split() == line.split()


def test_the_list_of_the_zoo_fits(lantm) -> None:
    """Names and scores are whole; what hard problems gave is in the line below a machine."""
    lines = lantm("zoo").out.splitlines()
    assert max(map(len, lines)) <= 80
    assert not [line for line in lines if "…" in line]
    assert all(name in "\n".join(lines) for name in zoo.names())
    at = next(at for at, line in enumerate(lines) if line.split()[:1] == ["copy-lantm-softmax"])
    machine, hard = lines[at].split(), lines[at + 1].split()
    scores = {row["scale"]: row["coarse"] for row in load("copy-lantm-softmax").notes["scores"]}
    assert [float(figure.split("/")[0]) for figure in machine[2:]] == pytest.approx(
        [scores[f"{scale}x"] for scale in (1, 2, 4)], abs=0.05
    )
    assert hard[:2] == ["hard", "problems"]
    assert [float(figure.split("/")[0]) for figure in hard[2:]] == pytest.approx(
        [scores[f"{scale}x hard"] for scale in (1, 2, 4)], abs=0.05
    )


def test_a_table_of_perplexities_fits() -> None:
    """The best seed is the best in validation, also in test; one that diverged has no perplexity."""
    tests = {
        "validation": Perplexity(np.log([130.0, 120.0, np.inf]), 73_760),
        "test": Perplexity(np.log([110.0, 115.5, np.inf]), 82_430),
    }
    file = io.StringIO()
    Console(file=file, width=80).print(score_table(score_rows(TEXT, tests), "best weights of every seed"))
    text = file.getvalue()
    assert max(map(len, text.splitlines())) <= 80
    assert "lantm-softmax on text: best weights of every seed" in text
    assert [line.split() for line in text.splitlines() if "," in line] == [
        ["lantm-softmax", "validation", "73,760", "120.00", "130.00", "3"],
        ["test", "82,430", "115.50", "115.50", "3"],
    ]


def progress(
    epoch: int, losses: list[float], diverged: list[bool], tests: dict[str, Measured], ended: bool = True
) -> Progress:
    report = EpochReport(
        loss=np.array(losses),
        gradient_norm=np.ones(3),
        rate=np.full(3, 0.0012345),
        skipped=np.zeros(3, int),
        diverged=np.array(diverged),
        longest=None,
    )
    return Progress(
        epoch=epoch,
        epochs=1500,
        batch=10 if ended else 5,
        batches=10,
        loss=report.loss,
        rate=report.rate,
        report=report if ended else None,
        tests=tests,
        tested=ended and bool(tests),
        seconds=36_000.0,
        per_second=1234.5,
    )


def shown(
    losses: list[float],
    diverged: list[bool],
    terminal: bool = False,
    experiment: Experiment = EXPERIMENT,
    tests: dict[str, Measured] | None = None,
) -> str:
    """Three epochs, of which the first is not tested; within the second the test before it is still known."""
    file = io.StringIO()
    found: dict[str, Measured] = tests or {"1x": SCORES, "2x": SCORES}
    with TrainingDisplay(Console(file=file, width=80, force_terminal=terminal), experiment) as display:
        display.update(progress(1, losses, diverged, {}))
        display.update(progress(20, losses, diverged, found, ended=False))
        for epoch in (20, 1500):
            display.update(progress(epoch, losses, diverged, found))
    return file.getvalue()


def test_progress_in_a_file_is_a_line_per_test() -> None:
    lines = shown([4.5, 0.25, 6.0], [False] * 3).splitlines()
    assert len(lines) == 4
    assert " ".join(lines[1].split()) == "epoch trained loss rate 1x coarse fine solved 2x coarse fine solved"
    assert lines[2].split()[:5] == ["20", "36000", "s", "0.2500", "0.0012"]
    assert lines[2].split()[5:8] == ["100.0%", "100.0%", "1/3"]
    assert lines[3].split()[0] == "1500"
    assert max(map(len, lines)) <= 80


def test_columns_of_hard_problems_stand_below_their_heads() -> None:
    lines = shown([4.5, 0.25, 6.0], [False] * 3, tests={"16x hard": SCORES, "1x": SCORES}).splitlines()
    assert "16x hard coarse    fine solved 1x coarse" in lines[1]
    for head in ("coarse", "fine", "solved"):
        assert lines[1].index(head) + len(head) <= len(lines[2])
    assert lines[2].index("100.0%") + len("100.0%") == lines[1].index("coarse") + len("coarse")
    assert len(lines[1]) == len(lines[2])


@pytest.mark.parametrize("losses", [[np.nan, 0.25, np.inf], [np.nan] * 3])
def test_seeds_that_diverged_are_mentioned(losses: list[float]) -> None:
    text = shown(losses, [True, False, True])
    assert text.splitlines()[-1].endswith("2 diverged")


def test_a_warning_is_shown_as_it_is() -> None:
    file = io.StringIO()
    warning = f"{'a long path/' * 10}[run] is damaged: restore it from a copy"
    TrainingDisplay(Console(file=file, width=80), EXPERIMENT).warn(warning)
    assert file.getvalue() == f"warning: {warning}\n"


def test_progress_on_a_text() -> None:
    tests: dict[str, Measured] = {"validation": Perplexity(np.log([150.0, 140.0, np.inf]), 100)}
    lines = shown(np.log([90.0, 80.0, 100.0]).tolist(), [False] * 3, experiment=TEXT, tests=tests).splitlines()
    assert lines[1].split() == ["epoch", "trained", "rate", "training", "validation", "words/s"]
    assert lines[2].split() == ["20", "36000", "s", "0.0012", "80.0", "140.0", "1,234"]
    assert len(lines) == 4
    assert max(map(len, lines)) <= 80
    live = shown(np.log([90.0, 80.0, 100.0]).tolist(), [False] * 3, terminal=True, experiment=TEXT, tests=tests)
    assert "perplexity 80.0, 1,234 words/s" in live


def test_what_takes_long_after_an_epoch_is_shown() -> None:
    """Also in a file, where the state is written after a silence."""
    with TrainingDisplay(Console(file=io.StringIO(), width=80), EXPERIMENT) as display:
        display.update(progress(29, [4.5, 0.25, 6.0], [False] * 3, {}))
        display.announce(30, "testing")
        assert display.in_words() == "epoch 30/1500, testing, 2%"
        display.update(progress(30, [4.5, 0.25, 6.0], [False] * 3, {"1x": SCORES}))
        assert display.in_words().startswith("epoch 30/1500, loss 0.2500")


def test_progress_on_a_terminal_is_live() -> None:
    text = shown([4.5, 0.25, 6.0], [False] * 3, terminal=True)
    assert "loss 0.2500 (median 4.5000), rate 0.0012" in text
    assert "1500/1500" in text

"""Tables and progress in 80 columns."""

import dataclasses
import io
from typing import Any

import numpy as np
import pytest
from lantm.experiments import preset
from rich.console import Console

from lantm.cli.progress import TrainingDisplay
from lantm.evaluation import Scores
from lantm.report import score_row, score_table
from lantm.tasks import Lengths
from lantm.training import EpochReport, Progress

EXPERIMENT = dataclasses.replace(preset("bigramFlip[unit=bigrams]", "lantm-invnorm"), seeds=128)


def scores(low: int, high: int, problems: int, coarse: float, first: float) -> Scores:
    seeds = np.full(128, coarse)
    return Scores("bigramFlip", Lengths(low, high), seeds, np.full(128, 100.0), np.full(128, first), problems)


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


def shown(losses: list[float], diverged: list[bool], terminal: bool = False) -> str:
    file = io.StringIO()
    console = Console(file=file, width=80, force_terminal=terminal)
    test = Scores("copy", Lengths(2, 64), np.array([100.0, 50, 0]), np.array([100.0, 75, 1]), np.zeros(3), problems=1)
    with TrainingDisplay(console, EXPERIMENT) as display:
        for epoch in (1, 20, 1500):
            report = EpochReport(
                loss=np.array(losses),
                gradient_norm=np.ones(3),
                rate=np.full(3, 0.0012345),
                skipped=np.zeros(3, int),
                diverged=np.array(diverged),
            )
            tests: dict[int, Any] = {1: test, 2: test} if epoch > 1 else {}
            display.update(Progress(epoch, 1500, report, tests, 36_000.0))
    return file.getvalue()


def test_progress_in_a_file_is_a_line_a_test() -> None:
    lines = shown([4.5, 0.25, 6.0], [False] * 3).splitlines()
    assert len(lines) == 4
    assert " ".join(lines[1].split()) == "epoch time loss rate 1x coarse fine solved 2x coarse fine solved"
    assert lines[2].split()[:5] == ["20", "36000", "s", "0.2500", "0.0012"]
    assert lines[2].split()[5:8] == ["100.0%", "100.0%", "1/3"]
    assert lines[3].split()[0] == "1500"
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("losses", [[np.nan, 0.25, np.inf], [np.nan] * 3])
def test_seeds_that_diverged_are_mentioned(losses: list[float]) -> None:
    text = shown(losses, [True, False, True])
    assert text.splitlines()[-1].endswith("2 diverged")


def test_a_warning_is_shown_as_it_is() -> None:
    file = io.StringIO()
    warning = f"{'a long path/' * 10}[run] is damaged: restore it from a copy"
    TrainingDisplay(Console(file=file, width=80), EXPERIMENT).warn(warning)
    assert file.getvalue() == f"warning: {warning}\n"


def test_progress_on_a_terminal_is_live() -> None:
    text = shown([4.5, 0.25, 6.0], [False] * 3, terminal=True)
    assert "loss 0.2500 (median 4.5000), rate 0.0012" in text
    assert "1500/1500" in text

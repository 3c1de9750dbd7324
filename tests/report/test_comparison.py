"""Ours beside the paper's, in 80 columns."""

import io
from typing import Any

from rich.console import Console

from lantm.report import comparison_table


def shown(rows: list[dict[str, Any]], columns: tuple[str, ...] = ()) -> list[list[str]]:
    file = io.StringIO()
    Console(file=file, width=80).print(comparison_table(rows, "a study [1]: ours", columns))
    text = file.getvalue()
    assert max(map(len, text.splitlines())) <= 80
    assert "…" not in text
    assert "a study [1]: ours" in text
    return [line.split() for line in text.splitlines()]


def row(**changes: Any) -> dict[str, Any]:
    usual = {
        "task": "bigramFlip",
        "model": "lantm-invnorm",
        "scale": "1x",
        "coarse": 100.0,
        "fine": 100.0,
        "median_coarse": 98.76,
        "solved": 7,
        "seeds": 128,
        "paper": {"coarse": 100, "fine": 100},
        "pass": True,
    }
    return {**usual, **changes}


def test_cell_by_cell() -> None:
    rows = [row(), row(scale="2x", coarse=1.25, **{"pass": False}), row(model="lstm", paper=None, **{"pass": None})]
    lines = shown(rows)
    assert ["bigramFlip", "lantm-invnorm", "1x", "100.0/100.0", "100/100", "98.8", "7/128", "pass"] in lines
    assert ["2x", "1.2/100.0", "100/100", "98.8", "7/128", "fail"] in lines, "names are not repeated"
    assert ["bigramFlip", "lstm", "1x", "100.0/100.0", "98.8", "7/128"] in lines


def test_further_columns() -> None:
    columns = ("variation", "epochs_until_solved")
    some = {"variation": "no-interpolation", "epochs_until_solved": 120.0, "paper": None, "pass": None}
    lines = shown([row(**some, seeds=8), row(**{**some, "epochs_until_solved": None}, seeds=8)], columns)
    scores = ["1x", "100.0/100.0", "98.8", "7/8"]
    assert ["bigramFlip", "no-interpolation", "120", *scores] in lines
    assert ["a", "study", "[1]:", "ours", "(lantm-invnorm)"] in lines, "one model is in the title"
    assert not any("paper" in line for line in lines)
    assert ["no-interpolation", "-", *scores] in lines

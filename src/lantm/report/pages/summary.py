"""summary.html: the cells of several study tables beside the paper's scores, on one page."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from lantm.evaluation import SOLVED
from lantm.report.pages.document import page
from lantm.training import Row

SUMMARY = "summary.html"
_VERDICTS = {True: "passed", False: "missed", None: ""}
_SHORT = {"lantm-invnorm": "InvNorm", "lantm-softmax": "SoftMax", "lstm": "LSTM"}


class CellResult(NamedTuple):
    """A cell of a table: its labels, and its record if there is one."""

    labels: Sequence[str]
    record: Mapping[str, Any] | None


class TableOfCells(NamedTuple):
    """A table: a study with one recipe."""

    study: str
    recipe: str
    about: str
    cells: Sequence[CellResult]


def summary_page(tables: Sequence[TableOfCells], facts: Mapping[str, Any], quick: bool) -> str:
    """The page; `facts` are displayed by name, except those that are None."""
    shown = [_table(table) for table in tables]
    title = "The paper's tables, ours beside theirs"
    data = {
        "title": title,
        "about": "a quick version, whose figures are not the paper's" if quick else "",
        "solved": SOLVED,
        "tables": shown,
        "cells": [sum(table[name] for table in shown) for name in ("done", "cells")],
        "figures": [sum(table[name] for table in shown) for name in ("passed", "compared")],
        "facts": [[name, str(value)] for name, value in facts.items() if value is not None],
    }
    scripts = ("base.js", "summary_page.js")
    return page(title, ("base.css", "report.css", "summary.css"), scripts, data)


def _table(table: TableOfCells) -> dict[str, Any]:
    rows = [row for cell in table.cells for row in _rows(cell)]
    verdicts = [row["verdict"] for row in rows if row["verdict"]]
    return {
        "study": table.study,
        "recipe": table.recipe,
        "about": table.about,
        "cells": len(table.cells),
        "done": sum(cell.record is not None for cell in table.cells),
        "compared": len(verdicts),
        "passed": verdicts.count(_VERDICTS[True]),
        "rows": rows,
    }


def _rows(cell: CellResult) -> list[dict[str, Any]]:
    """The rows of a cell; a single row with only its labels if it is not done."""
    labels = " ".join(_SHORT.get(label, label) for label in cell.labels)
    if cell.record is None:
        return [{"cell": labels, "verdict": ""}]
    taken = cell.record["training_seconds"] + cell.record["scoring_seconds"]
    return [
        {
            "cell": labels,
            "scale": row["scale"],
            "paper": _figures(row["paper"], 0),
            "best": _figures(row, 1),
            "median": _figures({name.removeprefix("median_"): row[name] for name in row if "median_" in name}, 1),
            "solved": f"{row['solved']} of {row['seeds']}" if "solved" in row else "",
            "verdict": _VERDICTS[row["pass"]],
            "minutes": f"{taken / 60:.1f}",
        }
        for row in cell.record["rows"]
    ]


def _figures(row: Row | Mapping[str, Any] | None, decimals: int) -> str:
    """Coarse/fine, or a perplexity. Percentages are truncated, not rounded, so that only a perfect score is 100.0.

    >>> _figures({"coarse": 99.97, "fine": 100.0}, 1), _figures({"coarse": 91, "fine": 98}, 0)
    ('99.9/100.0', '91/98')
    """
    if row is None:
        return ""
    if "perplexity" in row:
        return "none" if row["perplexity"] is None else f"{row['perplexity']:.{2 * decimals}f}"
    tens = 10**decimals
    return "/".join(f"{math.floor(tens * row[name] + 1e-6) / tens:.{decimals}f}" for name in ("coarse", "fine"))

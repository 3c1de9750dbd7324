"""Plain-text tables of scores and perplexities."""

import math
from collections.abc import Sequence
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from lantm.evaluation import SOLVED
from lantm.training import Row

PASSES = {True: Text("pass", "green"), False: Text("fail", "red"), None: Text("")}


def plain_table(title: str, caption: str = "") -> Table:
    """A table without column separators, at most 80 characters wide."""
    return Table(
        title=Text(title),
        caption=Text(caption) if caption else None,
        title_justify="left",
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )


def score_table(rows: Sequence[Row], title: str) -> Table:
    """The rows of one experiment: the best seed, the median, and the number of seeds that solve the task."""
    title = f"{rows[0]['model']} on {rows[0]['task']}: {title}"
    return perplexity_table(rows, title) if "perplexity" in rows[0] else _problem_table(rows, title)


def _problem_table(rows: Sequence[Row], title: str) -> Table:
    table = plain_table(
        title,
        "coarse: whole answers that are right, fine: single symbols, first error: median place in wrong answers; "
        "all of the best seed",
    )
    table.add_column("scale")  # "0.0781x hard" may need two lines
    for name in (
        "lengths",
        "problems",
        "coarse",
        "fine",
        "median\ncoarse",
        "median\nfine",
        f"solved\n≥{SOLVED:g}%",
        "first\nerror",
    ):
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        low, high = row["lengths"]
        table.add_row(
            row["scale"],
            f"{low}" if low == high else f"{low}-{high}",
            f"{row['problems']:,}",
            f"{row['coarse']:.1f}%",
            f"{row['fine']:.1f}%",
            f"{row['median_coarse']:.1f}%",
            f"{row['median_fine']:.1f}%",
            f"{row['solved']}/{row['seeds']}",
            "none" if row["first_error"] is None else f"at {100 * row['first_error']:.0f}%",
        )
    return table


def perplexity_table(rows: Sequence[Row], title: str, columns: Sequence[str] = ()) -> Table:
    """Perplexities as a table, beside the paper's if there are any."""
    compared = any(row.get("paper") for row in rows)
    table = plain_table(
        title, "of the seed that is best in validation" + (", compared as the paper rounds" if compared else "")
    )
    for name in ("model", "text"):
        table.add_column(name, no_wrap=True)
    for name in ("tokens", "perplexity", *(("paper",) if compared else ()), "median", "seeds", *columns, ""):
        table.add_column(name, justify="right", no_wrap=True)
    before = None
    for row in rows:
        table.add_row(
            row["model"] if row["model"] != before else "",
            row["scale"],
            f"{row['tokens']:,}",
            _shown(row["perplexity"]),
            *([_shown((row["paper"] or {}).get("perplexity"), 0)] if compared else []),
            _shown(row["median_perplexity"]),
            str(row["seeds"]),
            *(_shown(row.get(name)) for name in columns),
            PASSES[row.get("pass")],
        )
        before = row["model"]
    return table


def _shown(value: Any, digits: int = 2) -> str:
    if isinstance(value, str):
        return value
    return "-" if value is None or not math.isfinite(value) else f"{value:,.{digits}f}"

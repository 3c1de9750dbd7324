"""Ours beside the paper's, cell by cell."""

from collections.abc import Sequence
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from lantm.evaluation import SOLVED

_HEADS = {"epochs_until_solved": "epochs to\nsolve 1x"}


def comparison_table(rows: Sequence[dict[str, Any]], title: str, columns: Sequence[str] = ()) -> Table:
    """Rows as a table of 80 columns: scores of the best seed as coarse/fine, and how many seeds there are to it."""
    table = Table(
        title=Text(title),
        caption=Text(
            "coarse/fine in percent, of the best seed; compared in whole percent, to which the paper rounds. "
            f"solved: seeds with a coarse score of {SOLVED:g}% or more"
        ),
        title_justify="left",
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    for name in ("task", "model", *columns, "scale"):
        table.add_column(_HEADS.get(name, name), no_wrap=True)
    for name in ("ours", "paper", "median\ncoarse", "solved", ""):
        table.add_column(name, justify="right", no_wrap=True)
    before: tuple[str, str] | None = None
    for row in rows:
        at = (row["task"], row["model"])
        table.add_row(
            *(at if at != before else ("", "")),
            *(_shown(row.get(name)) for name in columns),
            row["scale"],
            f"{row['coarse']:.1f}/{row['fine']:.1f}",
            "" if row["paper"] is None else f"{row['paper']['coarse']}/{row['paper']['fine']}",
            f"{row['median_coarse']:.1f}",
            f"{row['solved']}/{row['seeds']}",
            {True: Text("pass", "green"), False: Text("fail", "red"), None: Text("")}[row["pass"]],
        )
        before = at
    return table


def _shown(value: Any) -> str:
    return "-" if value is None else f"{value:g}" if isinstance(value, int | float) else str(value)

"""The printed table of a study: our scores beside the paper's (the comparison itself: `grids/comparison.py`)."""

from collections.abc import Sequence
from typing import Any

from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

from lantm.evaluation import SOLVED
from lantm.report.tables import PASSES

_HEADS = {"epochs_until_solved": "epochs\nto solve", "median_fine": "median\nfine"}
_CAPTION = (
    "coarse/fine in percent, of the best seed\n"
    f"solved: seeds with a coarse score of {SOLVED:g}% or more; "
    "compared in whole percent"
)


def comparison_table(rows: Sequence[dict[str, Any]], title: str, columns: Sequence[str] = ()) -> Group:
    """A table of at most 80 characters: the best seed, the median, and the number of seeds that solve the task.

    `columns` are further fields of the rows. The model is in the title if there is only one, and the paper's scores are
    left out if there are none.
    """
    models = list(dict.fromkeys(row["model"] for row in rows))
    compared = any(row["paper"] is not None for row in rows)
    names = ["task", *(["model"] if len(models) > 1 else [])]
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for name in (*names, *columns, "scale"):
        table.add_column(_HEADS.get(name, name), no_wrap=True)
    for name in ("ours", *(["paper"] if compared else []), "median\ncoarse", "solved", *([""] if compared else [])):
        table.add_column(name, justify="right", no_wrap=True)
    before: list[str] = []
    for row in rows:
        at = [row[name] for name in names]
        table.add_row(
            *([""] * len(at) if at == before else map(Text, at)),  # Text: brackets in a task's options are not markup
            *(_shown(row.get(name)) for name in columns),
            row["scale"],
            f"{row['coarse']:.1f}/{row['fine']:.1f}",
            *([_paper(row)] if compared else []),
            f"{row['median_coarse']:.1f}",
            f"{row['solved']}/{row['seeds']}",
            *([PASSES[row["pass"]]] if compared else []),
        )
        before = at
    # Outside the table, since they may be wider than it.
    title = title if len(models) > 1 else f"{title} ({models[0]})"
    return Group(Text(title, "bold"), table, Text(_CAPTION if compared else _CAPTION.partition("; ")[0], "dim"))


def _paper(row: dict[str, Any]) -> str:
    figures = row["paper"]
    return "" if figures is None else f"{'~' * ('approximate' in row)}{figures['coarse']}/{figures['fine']}"


def _shown(value: Any) -> str:
    return "-" if value is None else f"{value:g}" if isinstance(value, int | float) else str(value)

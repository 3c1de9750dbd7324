"""Adds the paper's numbers to a result row and decides whether ours are at least as good (table:
`report/comparison.py`)."""

import math
from collections.abc import Mapping

from lantm.training import Row


def beside_the_paper(row: Row, figures: Mapping[str, int] | None, quick: bool, approximate: bool = False) -> Row:
    """A row with the paper's scores, and whether ours are at least as good.

    Scores are compared in whole percent, or whole perplexities, as the paper rounds. Quick versions and approximately
    known scores are not compared.
    """
    row = {**row, "paper": None if figures is None else dict(figures), "pass": None}
    if quick:
        row["quick"] = True
    if approximate and figures is not None:
        row["approximate"] = True
    elif figures is not None and not quick:
        row["pass"] = all(_as_good(name, row[name], figure) for name, figure in figures.items())
    return row


def _as_good(name: str, ours: float | None, figure: int) -> bool:
    if ours is None:
        return False
    return whole(ours) <= figure if name == "perplexity" else whole(ours) >= figure


def whole(figure: float) -> int:
    """The nearest integer; halves are rounded up.

    >>> whole(99.5), whole(99.49)
    (100, 99)
    """
    return math.floor(figure + 0.5)

"""Perplexities as rows of JSON, and as tables for people."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from rich import box
from rich.table import Table
from rich.text import Text

from lantm.language import LanguageExperiment, Perplexity


def perplexity_rows(experiment: LanguageExperiment, validation: Perplexity, test: Perplexity) -> list[dict[str, Any]]:
    """A row for validation and one for test. The best seed is the one with the best validation, in both."""
    best = int(np.nanargmin(np.append(validation.losses, np.inf)))
    best = min(best, experiment.seeds - 1)  # when none is a number
    return [
        {
            "task": "language",
            "model": experiment.model,
            "recipe": "paper",
            "scale": name,
            "tokens": perplexity.tokens,
            "perplexity": _rounded(perplexity.values[best]),
            "median_perplexity": _rounded(np.median(perplexity.values)),
            "seeds": experiment.seeds,
            "perplexity_by_seed": [_rounded(value) for value in perplexity.values],
            "best_seed": experiment.first_seed + best,
        }
        for name, perplexity in (("validation", validation), ("test", test))
    ]


def perplexity_table(rows: Sequence[dict[str, Any]], title: str, columns: Sequence[str] = ()) -> Table:
    """Rows as a table of 80 columns, beside the paper's where there is something to compare with."""
    compared = any(row.get("paper") for row in rows)
    table = Table(
        title=Text(title),
        caption=Text("of the seed that is best in validation" + (", compared as the paper rounds" if compared else "")),
        title_justify="left",
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
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
            {True: Text("pass", "green"), False: Text("fail", "red"), None: Text("")}[row.get("pass")],
        )
        before = row["model"]
    return table


def _rounded(value: Any) -> float | None:
    return round(float(value), 3) if np.isfinite(value) else None


def _shown(value: float | str | None, digits: int = 2) -> str:
    if isinstance(value, str):
        return value
    return "-" if value is None or not math.isfinite(value) else f"{value:,.{digits}f}"

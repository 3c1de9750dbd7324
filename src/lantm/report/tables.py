"""Scores as rows of JSON, in one shape everywhere, and as tables for people."""

from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from lantm.evaluation import SOLVED, Scores
from lantm.training import Experiment


def score_row(experiment: Experiment, label: str, scores: Scores, best: int | None = None) -> dict[str, Any]:
    """One row: whose scores they are, and the scores; `best` is the best seed where it was chosen elsewhere."""
    best = scores.best if best is None else best
    head = {
        "task": experiment.task,
        "model": experiment.model,
        "recipe": experiment.recipe_name,
        "scale": label,
    }
    figures = {name: value for name, value in scores.row(best).items() if name != "task"}
    return {**head, **figures, "best_seed": experiment.first_seed + best}


def summary_rows(experiment: Experiment, scores: dict[int, Scores]) -> list[dict[str, Any]]:
    """A row for every scale."""
    return [score_row(experiment, f"{scale}x", score) for scale, score in scores.items()]


def score_table(rows: list[dict[str, Any]], title: str) -> Table:
    """The rows as a table of 80 columns: the best seed, the median, and how many seeds solve the task."""
    table = Table(
        title=Text(f"{rows[0]['model']} on {rows[0]['task']}: {title}"),
        caption="coarse, fine and first error (median place in wrong answers) are the best seed's",
        title_justify="left",
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    table.add_column("scale", no_wrap=True)
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

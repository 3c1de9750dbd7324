"""Scores as rows of JSON, in one shape everywhere, and as tables for people."""

from typing import Any

from rich.table import Table

from lantm.evaluation import SOLVED, Scores
from lantm.training import Experiment


def score_row(experiment: Experiment, label: str, scores: Scores) -> dict[str, Any]:
    """One row: whose scores they are, and the scores."""
    head = {
        "task": experiment.task,
        "model": experiment.model,
        "recipe": experiment.recipe_name,
        "scale": label,
    }
    return {**head, **{name: value for name, value in scores.row().items() if name != "task"}}


def summary_rows(experiment: Experiment, scores: dict[int, Scores]) -> list[dict[str, Any]]:
    """A row for every scale."""
    return [score_row(experiment, f"{scale}x", score) for scale, score in scores.items()]


def score_table(rows: list[dict[str, Any]], title: str) -> Table:
    """The rows as a table: the best seed, the median, and how many seeds solve the task."""
    table = Table(title=f"{rows[0]['model']} on {rows[0]['task']}: {title}", title_justify="left")
    table.add_column("scale")
    for name in (
        "lengths",
        "problems",
        "coarse",
        "fine",
        "median coarse",
        "median fine",
        f"solved (≥{SOLVED:g}%)",
    ):
        table.add_column(name, justify="right")
    table.add_column("first error", justify="right")
    for row in rows:
        low, high = row["lengths"]
        first = row["first_error_by_seed"][row["best_seed"]]
        table.add_row(
            row["scale"],
            f"{low}" if low == high else f"{low}-{high}",
            f"{row['problems']:,}",
            f"{row['coarse']:.1f}%",
            f"{row['fine']:.1f}%",
            f"{row['median_coarse']:.1f}%",
            f"{row['median_fine']:.1f}%",
            f"{row['solved']}/{row['seeds']}",
            "none" if first is None else f"at {100 * first:.0f}%",
        )
    table.caption = "coarse, fine and first error (median place in wrong answers) are the best seed's"
    table.caption_justify = "left"
    return table

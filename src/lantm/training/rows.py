"""The row of JSON that all commands print and all results store: one experiment on one test."""

from collections.abc import Mapping
from typing import Any

from lantm.evaluation import Measured, best_seed, wilson
from lantm.training.experiment import Experiment

Row = dict[str, Any]


def score_row(experiment: Experiment, label: str, measured: Measured, best: int | None = None) -> Row:
    """One row: whose figures they are, and the figures.

    `best` is the index of the best seed if it was selected on other problems; otherwise it is the best seed of this
    test, by the score that the recipe selects by.
    """
    best = best_seed([measured], experiment.recipe.select_by) if best is None else best
    head = {
        "task": experiment.task,
        "model": experiment.model,
        "recipe": experiment.recipe_name,
        "scale": label,
    }
    return {**head, **measured.figures(best), "best_seed": experiment.first_seed + best}


def of_seed(row: Row, experiment: Experiment, index: int) -> Row:
    """The row with the figures of one seed in the place of those of the test's own best one.

    Rows of earlier versions have no intervals: over a range of lengths there is none, as the batches are not known.
    """
    own = {name: row[f"{name}_by_seed"][index] for name in row if f"{name}_by_seed" in row}
    if "coarse" in row and "interval" not in row:
        one_length, problems = row["lengths"][0] == row["lengths"][1], row["problems"]
        found = wilson(own["coarse"] / 100 * problems, problems) if one_length else None
        own["interval"] = None if found is None else [round(100 * bound, 2) for bound in found]
    return {**row, **own, "best_seed": experiment.first_seed + index}


def score_rows(experiment: Experiment, tests: Mapping[str, Measured]) -> list[Row]:
    """A row per test. For a text, the best seed of all rows is the one with the best validation perplexity."""
    best = best_seed([tests["validation"]], experiment.recipe.select_by) if "validation" in tests else None
    return [score_row(experiment, label, measured, best) for label, measured in tests.items()]

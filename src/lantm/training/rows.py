"""The result row: one experiment on one test, as printed by all commands and stored in all results."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from lantm.errors import LantmError
from lantm.evaluation import Measured, best_seed, wilson
from lantm.records import make_record
from lantm.training.experiment import Experiment

Row = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class ScoreRow:
    """The required fields of a stored row of scores; further fields are allowed."""

    task: str
    model: str
    scale: str
    lengths: tuple[int, int]
    problems: int
    coarse: float
    fine: float
    median_coarse: float
    median_fine: float
    seeds: int
    solved: int
    first_error: float | None = None
    interval: tuple[float, float] | None = None
    coarse_by_seed: tuple[float, ...] = ()
    fine_by_seed: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if not (0 <= self.coarse <= 100 and 0 <= self.fine <= 100 and self.problems >= 1):
            raise LantmError(f"a row has invalid scores: {self.coarse}% and {self.fine}% of {self.problems} problems")


@dataclasses.dataclass(frozen=True)
class PerplexityRow:
    """The required fields of a stored row of perplexities; further fields are allowed."""

    task: str
    model: str
    scale: str
    tokens: int
    seeds: int
    perplexity: float | None
    median_perplexity: float | None


def read_rows(values: Any, where: str) -> list[Row]:
    """Rows read from a file, checked."""
    if not isinstance(values, list):
        raise LantmError(f"{where} is not a list of rows")
    for row in values:
        kind = PerplexityRow if isinstance(row, dict) and "perplexity" in row else ScoreRow
        make_record(kind, row, where, others=True)
        for name, value in row.items():
            if name.endswith("_by_seed") and not (isinstance(value, list) and len(value) == row["seeds"]):
                raise LantmError(f"{where}: {name} does not have one number per seed")
    return values


def score_row(experiment: Experiment, label: str, measured: Measured, best: int | None = None) -> Row:
    """One row: the experiment's names and the scores of a test.

    `best` is the index of the best seed if it was selected on other problems; by default it is the best seed of this
    test, by the recipe's `select_by`.
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
    """The row with the scores of one seed instead of those of the test's best seed.

    Rows of earlier versions have no intervals. Over a range of lengths one cannot be computed, as the batches are
    unknown.
    """
    if index >= row["seeds"]:
        raise LantmError(f"there are scores of {row['seeds']} seeds only: resume the training, which writes them anew")
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

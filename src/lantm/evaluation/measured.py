"""`Measured`: the scores of all seeds on one test, and the functions that rank seeds and select the best.

The best weights of a seed, the best start of a seed and the best seed of a run are all selected here.
"""

import abc
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from jaxtyping import Float, Int

Score = Literal["coarse", "fine"]

SOLVED = 99.0  # percent: a seed whose coarse score is at least this solves the task at that length

BEYOND_ALL_SCORES = 1000
"""With `shorter_first`, a merit gains this for every solved length; larger than any mean of scores."""


class Measured(abc.ABC):
    """The results of every seed on one test: scores on problems, or perplexities of a text."""

    @abc.abstractmethod
    def ranking(self, select_by: Score) -> tuple[Float[np.ndarray, " seeds"], Float[np.ndarray, " seeds"]]:
        """The number that seeds are ranked by (larger is better), and the one that breaks ties."""

    @property
    @abc.abstractmethod
    def solved(self) -> np.ndarray:
        """Whether each seed solves the task."""

    @abc.abstractmethod
    def among(self, places: Int[np.ndarray, " some"]) -> "Measured":
        """The results of the seeds at these indices."""

    @abc.abstractmethod
    def by_seed(self, index: int) -> dict[str, float | None]:
        """The results of one seed by name, as stored in the metrics."""

    @abc.abstractmethod
    def figures(self, best: int) -> dict[str, Any]:
        """The results of the best seed, the median and all seeds, as stored in JSON rows."""


def merits(tests: Sequence[Measured], select_by: Score, shorter_first: bool = False) -> Float[np.ndarray, " seeds"]:
    """One number per seed (larger is better): the mean over the tests.

    With `shorter_first`, tests must be in order of length, and the number of consecutive solved tests counts before the
    mean.
    """
    ranked = [test.ranking(select_by) for test in tests]
    merit = np.mean([first + 0.01 * second for first, second in ranked], axis=0)
    if shorter_first:
        merit = merit + BEYOND_ALL_SCORES * np.cumprod([test.solved for test in tests], axis=0).sum(axis=0)
    return np.asarray(merit, np.float32)


def from_best(merits: Float[np.ndarray, " seeds"]) -> list[int]:
    """The indices of the seeds from the best merit to the worst; the earlier one wins a tie.

    Whatever shows one machine of a run shows the first: solve, trace, view, video, reports, saved files.
    """
    ranked: list[int] = np.argsort(-np.nan_to_num(merits, nan=-np.inf), kind="stable").tolist()
    return ranked


def best_seed(tests: Sequence[Measured], select_by: Score) -> int:
    """The index of the seed with the best mean over the tests; the other score breaks ties."""
    first, second = np.mean([test.ranking(select_by) for test in tests], axis=0)
    first, second = (np.where(np.isnan(values), -np.inf, values) for values in (first, second))
    return int(np.lexsort((second, first))[-1])


def finite(value: Any) -> float | None:
    """A JSON number, or None if it is not finite."""
    return float(value) if np.isfinite(value) else None


def rounded(value: Any, digits: int) -> float | None:
    """A rounded JSON number, or None if it is not finite."""
    return round(float(value), digits) if np.isfinite(value) else None

"""Estimates the remaining time of a grid from the speed of the trainings so far."""

from collections.abc import Sequence
from typing import NamedTuple


class Work(NamedTuple):
    """A training, or the scoring of one that several jobs share."""

    kind: tuple[str, ...]
    """Model, recipe and task: trainings of the same kind, or else the most similar kind, cost the same per problem."""
    problems: int
    """The number of problems of the whole training."""
    before: float
    """The fraction that was done when timing began."""
    done: float
    """The fraction that is done."""
    seconds: float
    """The time since timing began."""
    start: float = 0.0
    """The time before, for compilation and the first call."""

    @property
    def trained(self) -> float:
        """The number of problems that were timed."""
        return self.problems * max(0.0, self.done - self.before)


def seconds_left(works: Sequence[Work], elapsed: float) -> float:
    """The estimated time until all are done, with the parallelism so far; 0 if nothing is known yet.

    Here a tenth of the first training took a minute, and the second takes as long as the first:

    >>> seconds_left([Work(("lstm",), 1000, 0.0, 0.1, 60.0), Work(("lstm",), 1000, 0.0, 0.0, 0.0)], 60.0)
    1140.0
    """
    spent = sum(work.start + work.seconds for work in works)
    starts = [work.start for work in works if work.start]
    if not spent or not elapsed or not any(work.trained for work in works):
        return 0.0
    left = sum(work.problems * (1 - work.done) * _seconds_a_problem(works, work.kind) for work in works)
    if starts:
        waiting = [work for work in works if work.problems and not work.start and not work.seconds]
        left += len(waiting) * sum(starts) / len(starts)
    return left * min(1.0, elapsed / spent)


def _seconds_a_problem(works: Sequence[Work], kind: tuple[str, ...]) -> float:
    """The time per problem of this kind, or if there is none yet, of the most similar kind."""
    for length in range(len(kind), -1, -1):
        alike = [work for work in works if work.kind[:length] == kind[:length]]
        if trained := sum(work.trained for work in alike):
            return sum(work.seconds for work in alike) / trained
    return 0.0

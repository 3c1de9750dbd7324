"""Fine and coarse scores of every seed, and the position of first mistakes.

Fine is the percentage of answer symbols that are right, including the end symbol; coarse is the percentage of answers
that are entirely right (section 4.1 of the paper).
"""

import dataclasses
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from lantm.evaluation.interval import clustered, wilson
from lantm.evaluation.measured import SOLVED, Measured, Score, rounded
from lantm.tasks import Lengths


class Marks(NamedTuple):
    """The result of every problem."""

    right: Int[Array, "*problems"]  # answer symbols that are right
    size: Int[Array, "*problems"]  # answer symbols
    first_error: Int[Array, "*problems"]  # position of the first wrong symbol; `size` if all are right


def mark(
    predicted: Int[Array, "answer batch"],
    targets: Int[Array, "answer batch"],
    mask: Bool[Array, "answer batch"],
) -> Marks:
    """Compares predictions with targets where the mask is true."""
    wrong = (predicted != targets) & mask
    size = jnp.sum(mask, axis=0)
    # Positions are relative to the start of each problem's answer.
    position = jnp.cumsum(mask, axis=0) - 1
    first = jnp.min(jnp.where(wrong, position, size), axis=0)
    return Marks(size - jnp.sum(wrong, axis=0), size, first)


@dataclasses.dataclass(frozen=True)
class Scores(Measured):
    """The scores of every seed on one test."""

    lengths: Lengths
    coarse: Float[np.ndarray, " seeds"]  # percent
    fine: Float[np.ndarray, " seeds"]  # percent
    first_error: Float[np.ndarray, " seeds"]  # median over wrong answers, as a fraction of the answer; or nan
    problems: int
    by_batch: Int[np.ndarray, "seeds batches"] | None = None
    """Right answers per batch, if the problems of a batch share a length and batches differ in length."""
    kinds: dict[str, Float[np.ndarray, " seeds"]] = dataclasses.field(default_factory=dict)
    """Coarse scores by kind for hard problems; nan for kinds without problems."""

    @classmethod
    def of(cls, lengths: Lengths, marks: Marks) -> "Scores":
        """Computes scores from marks of shape (seeds, batches, batch)."""
        right, size, first = (np.asarray(field).reshape(field.shape[0], -1) for field in marks)
        whole = right == size
        place_of_error = np.where(whole, np.nan, first / size)
        return cls(
            lengths=lengths,
            coarse=100.0 * whole.mean(axis=1),
            fine=100.0 * right.sum(axis=1) / size.sum(axis=1),
            first_error=np.array(
                [
                    np.nanmedian(seed) if failed else np.nan
                    for seed, failed in zip(place_of_error, ~whole.all(axis=1), strict=True)
                ]
            ),
            problems=right.shape[1],
            by_batch=None if lengths.count == 1 else whole.reshape(marks.right.shape).sum(axis=2),
        )

    def with_kinds(self, names: Sequence[str], kinds: Int[Array, "seeds batches batch"], marks: Marks) -> "Scores":
        """Adds coarse scores by kind; `kinds` holds the kind of every problem, as an index into `names`."""
        whole, coarse = np.asarray(marks.right == marks.size), {}
        for index, name in enumerate(names):
            of_kind = np.asarray(kinds == index)
            right, problems = (of_kind & whole).sum(axis=(1, 2)), of_kind.sum(axis=(1, 2))
            coarse[name] = np.where(problems > 0, 100.0 * right / np.maximum(problems, 1), np.nan)
        return dataclasses.replace(self, kinds=coarse)

    def ranking(self, select_by: Score) -> tuple[Float[np.ndarray, " seeds"], Float[np.ndarray, " seeds"]]:
        return (self.coarse, self.fine) if select_by == "coarse" else (self.fine, self.coarse)

    @property
    def intervals(self) -> Float[np.ndarray, "seeds 2"]:
        """The 95% confidence intervals of the coarse scores, in percent."""
        if self.by_batch is None:
            found = [wilson(coarse / 100 * self.problems, self.problems) for coarse in self.coarse]
        else:
            found = [clustered(right, self.problems // len(right)) for right in self.by_batch]
        return 100 * np.array(found)

    @property
    def solved(self) -> Bool[np.ndarray, " seeds"]:
        """Which seeds have a coarse score of 99% or more."""
        return self.coarse >= SOLVED

    def among(self, places: Int[np.ndarray, " some"]) -> "Scores":
        some: dict[str, Any] = {name: getattr(self, name)[places] for name in ("coarse", "fine", "first_error")}
        kinds = {name: coarse[places] for name, coarse in self.kinds.items()}
        some["by_batch"] = None if self.by_batch is None else self.by_batch[places]
        return dataclasses.replace(self, **some, kinds=kinds)

    def by_seed(self, index: int) -> dict[str, float | None]:
        return {"coarse": rounded(self.coarse[index], 3), "fine": rounded(self.fine[index], 3)}

    def figures(self, best: int) -> dict[str, Any]:
        first_errors = [rounded(place, 4) for place in self.first_error]
        intervals = np.round(self.intervals, 2).tolist()
        return {
            "lengths": [self.lengths.smallest, self.lengths.largest],
            "problems": self.problems,
            "coarse": round(float(self.coarse[best]), 2),
            "interval": intervals[best],
            "fine": round(float(self.fine[best]), 2),
            "median_coarse": round(float(np.median(self.coarse)), 2),
            "median_fine": round(float(np.median(self.fine)), 2),
            "seeds": len(self.coarse),
            "solved": int(np.sum(self.solved)),
            "first_error": first_errors[best],
            "coarse_by_seed": [round(float(c), 2) for c in self.coarse],
            "interval_by_seed": intervals,
            "fine_by_seed": [round(float(f), 2) for f in self.fine],
            "first_error_by_seed": first_errors,
            **({"kinds": {name: rounded(c[best], 2) for name, c in self.kinds.items()}} if self.kinds else {}),
        }

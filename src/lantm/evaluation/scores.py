"""Fine and coarse scores at any lengths, for every seed, and where answers first go wrong.

Fine is the share of answer symbols that are right, the end symbol included; coarse is the share of answers
that are right as a whole (section 4.1 of the paper).
"""

import dataclasses
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from lantm.evaluation.answer import answer
from lantm.machine import Model
from lantm.seeds import device_mesh, over_seeds, place, seed_key, shared_key
from lantm.tasks import Lengths, Task

Score = Literal["coarse", "fine"]

SOLVED = 99.0  # percent: a seed whose coarse score is at least this solves the task at that length


class Marks(NamedTuple):
    """How single problems went."""

    right: Int[Array, "*problems"]  # answer symbols that are right
    size: Int[Array, "*problems"]  # answer symbols
    first_error: Int[Array, "*problems"]  # position of the first wrong symbol; `size` when all are right


def mark(
    predicted: Int[Array, "answer batch"],
    targets: Int[Array, "answer batch"],
    mask: Bool[Array, "answer batch"],
) -> Marks:
    """Compares answers with what was expected where the mask says so."""
    wrong = (predicted != targets) & mask
    size = jnp.sum(mask, axis=0)
    # Positions count from the first symbol of each problem's own answer.
    position = jnp.cumsum(mask, axis=0) - 1
    first = jnp.min(jnp.where(wrong, position, size), axis=0)
    return Marks(size - jnp.sum(wrong, axis=0), size, first)


@dataclasses.dataclass(frozen=True)
class Scores:
    """The scores of every seed at some lengths."""

    task: str
    lengths: Lengths
    coarse: Float[np.ndarray, " seeds"]  # percent
    fine: Float[np.ndarray, " seeds"]  # percent
    first_error: Float[np.ndarray, " seeds"]  # median over wrong answers, as a share of the answer; nan: none
    problems: int

    @classmethod
    def of(cls, task: str, lengths: Lengths, marks: Marks) -> "Scores":
        """Sums up marks of shape (seeds, batches, batch)."""
        right, size, first = (np.asarray(field).reshape(field.shape[0], -1) for field in marks)
        whole = right == size
        place_of_error = np.where(whole, np.nan, first / size)
        return cls(
            task=task,
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
        )

    def among(self, places: Int[np.ndarray, " some"]) -> "Scores":
        """Those of some of the seeds."""
        some = {name: getattr(self, name)[places] for name in ("coarse", "fine", "first_error")}
        return dataclasses.replace(self, **some)

    @property
    def best(self) -> int:
        """The seed with the best coarse score, and of those the best fine score."""
        return self.best_by("coarse")

    def best_by(self, score: Score) -> int:
        """The seed with the best of this score, and of those the best of the other."""
        return int(np.lexsort(self._ranking(score)[::-1])[-1])

    def merit(self, score: Score) -> Float[np.ndarray, " seeds"]:
        """Much the same as one number a seed, whose mean over several lengths makes sense."""
        first, second = self._ranking(score)
        return first + 0.01 * second

    def _ranking(self, score: Score) -> tuple[Float[np.ndarray, " seeds"], Float[np.ndarray, " seeds"]]:
        return (self.coarse, self.fine) if score == "coarse" else (self.fine, self.coarse)

    def row(self, best: int | None = None) -> dict[str, Any]:
        """The row of JSON that all commands print: the best seed, the median, and how many solve it.

        A `best` that is given was chosen elsewhere, on other problems.
        """
        best = self.best if best is None else best
        first_errors = [None if np.isnan(place) else round(float(place), 4) for place in self.first_error]
        return {
            "task": self.task,
            "lengths": [self.lengths.smallest, self.lengths.largest],
            "problems": self.problems,
            "coarse": round(float(self.coarse[best]), 2),
            "fine": round(float(self.fine[best]), 2),
            "median_coarse": round(float(np.median(self.coarse)), 2),
            "median_fine": round(float(np.median(self.fine)), 2),
            "seeds": len(self.coarse),
            "solved": int(np.sum(self.coarse >= SOLVED)),
            "first_error": first_errors[best],
            "coarse_by_seed": [round(float(c), 2) for c in self.coarse],
            "fine_by_seed": [round(float(f), 2) for f in self.fine],
            "first_error_by_seed": first_errors,
        }


class Examiner:
    """Tests the models of all seeds. One compilation serves every list of lengths up to the longest."""

    def __init__(self, task: Task, longest: int, seeds: int, batch_size: int = 32):
        """`longest` is the longest length that will be asked for, `seeds` how many models are tested at once."""
        self.task = task
        self._mesh = device_mesh(seeds)

        def examine(tested: tuple[Model, Array], lengths: Array, purpose: Array, counter: Array) -> Marks:
            model, seed = tested

            def one_batch(_: None, at: Array) -> tuple[None, Marks]:
                key = seed_key(seed, purpose, counter, at)
                given = answer(model, task.sample(key, batch_size, lengths[at], longest))
                return None, mark(jnp.argmax(given.logits, axis=-1), given.targets, given.mask)

            return lax.scan(one_batch, None, jnp.arange(lengths.shape[0]))[1]

        self._examine = over_seeds(examine, self._mesh)

    def __call__(
        self,
        models: Model,
        seeds: Int[Array, " seeds"],
        lengths: Lengths,
        batches: int,
        purpose: int,
        counter: int,
    ) -> Scores:
        """Scores on `batches` batches of fresh problems; purpose and counter choose the random numbers."""
        keys = jax.random.split(shared_key(purpose, counter, lengths.smallest, lengths.largest), batches)
        drawn = jax.vmap(lengths.sample)(keys)
        marks = self._examine(place((models, seeds), self._mesh), drawn, purpose, counter)
        return Scores.of(self.task.name, lengths, marks)

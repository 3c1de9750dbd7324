"""Examiners: the machines of all seeds, tested on fresh problems of a task or on the parts of a text.

A test draws its problems by a purpose and a counter. So the problems that select weights, those that select seeds and
those of reported figures are different.
"""

import abc
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh
from jaxtyping import Array, Int

from lantm.devices import device_mesh, over_seeds, place
from lantm.evaluation.answer import predict
from lantm.evaluation.measured import Measured
from lantm.evaluation.perplexity import Perplexity, piece_surprises
from lantm.evaluation.scores import Marks, Scores, mark
from lantm.machine import Model
from lantm.randomness import EVALUATE, seed_key, shared_key
from lantm.tasks import Lengths, Task, Text
from lantm.tasks.corpus import Part

Seeds = Int[Array, " seeds"] | Int[np.ndarray, " seeds"]
BATCH = 32  # problems of one length that are scored together, by default


PARTS: dict[str, Part] = {"validation": "valid", "test": "test"}
"""The parts of a text that machines are tested on, by label."""


class Draw(NamedTuple):
    """Which fresh problems, and how many; texts ignore it."""

    problems: int
    purpose: int
    counter: int


def choosing(problems: int) -> Draw:
    """Problems by which the best seed is selected."""
    return Draw(problems, EVALUATE, 0)


def reporting(problems: int, draw: int = 1) -> Draw:
    """Problems for reported figures: those that `lantm eval` draws by default."""
    return Draw(problems, EVALUATE, draw)


class Examiner(abc.ABC):
    """Tests the models of all seeds."""

    @abc.abstractmethod
    def __call__(self, models: Model, seeds: Seeds, draw: Draw) -> dict[str, Measured]:
        """The figures of every seed, by the label of each test."""


class ProblemExaminer(Examiner):
    """Scores on problems of a task at several lengths, by one compiled program."""

    def __init__(self, task: Task, lengths: Mapping[str, Lengths], seeds: int, batch_size: int = BATCH):
        """`lengths` by the label of each test; `seeds` is the number of models that are tested at once."""
        self._lengths, self._batch_size = lengths, batch_size
        self._mesh = device_mesh(seeds)
        longest = max(one.largest for one in lengths.values())

        def examine(tested: tuple[Model, Array], lengths: Array, purpose: Array, counter: Array) -> Marks:
            model, seed = tested

            def one_batch(_: None, at: Array) -> tuple[None, Marks]:
                key = seed_key(seed, purpose, counter, at)
                return None, mark(*predict(model, task.sample(key, batch_size, lengths[at], longest)))

            return lax.scan(one_batch, None, jnp.arange(lengths.shape[0]))[1]

        self._examine = over_seeds(examine, self._mesh)

    def __call__(self, models: Model, seeds: Seeds, draw: Draw) -> dict[str, Measured]:
        """Problems are rounded up to whole batches."""
        return {label: self._score(models, seeds, lengths, draw) for label, lengths in self._lengths.items()}

    def _score(self, models: Model, seeds: Seeds, lengths: Lengths, draw: Draw) -> Scores:
        batches = -(-draw.problems // self._batch_size)
        keys = jax.random.split(shared_key(draw.purpose, draw.counter, lengths.smallest, lengths.largest), batches)
        drawn = jax.vmap(lengths.sample)(keys)
        marks = self._examine(place((models, seeds), self._mesh), drawn, draw.purpose, draw.counter)
        return Scores.of(lengths, marks)


class TextExaminer(Examiner):
    """Reads parts of a text with the machines of all seeds and carries their state and memory along."""

    def __init__(self, text: Text, parts: Mapping[str, Part], seeds: int, batch_size: int = BATCH):
        """`parts` by the label of each test; a part is read in `batch_size` columns side by side."""
        self._mesh = device_mesh(seeds)
        self._parts = {label: text.pieces(part, batch_size) for label, part in parts.items()}
        self._tokens = {label: len(text.corpus.part(part)) for label, part in parts.items()}

    def __call__(self, models: Model, seeds: Seeds, draw: Draw | None = None) -> dict[str, Measured]:
        placed = place(models, self._mesh)
        found: dict[str, Measured] = {}
        for label, pieces in self._parts.items():
            surprises = jax.device_get(_reading(self._mesh)(placed, pieces))
            # The sum over many pieces needs double precision.
            total = surprises.astype(np.float64).sum(axis=1)
            found[label] = Perplexity(total / self._tokens[label], self._tokens[label])
        return found


@lru_cache
def _reading(mesh: Mesh) -> Callable[..., Any]:
    return over_seeds(piece_surprises, mesh)

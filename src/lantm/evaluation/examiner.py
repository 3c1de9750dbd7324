"""Examiners: test all seeds on fresh problems of a task, or on the parts of a text.

The problems of a test are determined by a purpose and a counter, so the problems used to select weights, to select
seeds and to report scores are different.
"""

import abc
from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Int

from lantm.batch import Batch
from lantm.devices import compiled_once, device_mesh, place
from lantm.errors import LantmError
from lantm.evaluation.answer import predict
from lantm.evaluation.measured import Measured
from lantm.evaluation.perplexity import Perplexity, piece_surprises
from lantm.evaluation.scores import Marks, Scores, mark
from lantm.machine import Model
from lantm.randomness import EVALUATE, HARD, SEEDS, seed_key, shared_key
from lantm.tasks import Lengths, Task, Text
from lantm.tasks.corpus import Part

Seeds = Int[Array, " seeds"] | Int[np.ndarray, " seeds"]
BATCH = 32  # default number of problems per batch, all of one length


PARTS: dict[str, Part] = {"validation": "valid", "test": "test"}
"""The parts of a text to test on, by label."""


MOST_PROBLEMS = 10_000_000
"""The maximum number of problems of a test."""


class Draw(NamedTuple):
    """Which fresh problems to draw, and how many; ignored for texts."""

    problems: int
    purpose: int
    counter: int


def check_problems(problems: int) -> None:
    """Raises a `LantmError` unless the number of problems is valid."""
    if not 1 <= problems <= MOST_PROBLEMS:
        raise LantmError(f"problems is {problems}: give a whole number from 1 to {MOST_PROBLEMS:,}")


def check_draw(draw: int) -> None:
    """Raises a `LantmError` unless the number of a draw is valid."""
    if not 0 <= draw <= SEEDS:
        raise LantmError(f"draw is {draw}: give a whole number from 0 to {SEEDS}")


def choosing(problems: int) -> Draw:
    """Problems for selecting the best seed."""
    check_problems(problems)
    return Draw(problems, EVALUATE, 0)


def reporting(problems: int, draw: int = 1) -> Draw:
    """Problems for reported scores: those that `lantm eval` draws by default."""
    check_problems(problems)
    check_draw(draw)
    return Draw(problems, EVALUATE, draw)


class Hard(NamedTuple):
    """A test on hard problems of these lengths."""

    lengths: Lengths


def random_and_hard(random: Mapping[str, Lengths], hard: Mapping[str, Lengths]) -> dict[str, Lengths | Hard]:
    """Tests on random and on hard problems by label, each `2x` before `2x hard`."""
    tests: dict[str, Lengths | Hard] = {}
    for label, lengths in {**random, **hard}.items():
        if label in random:
            tests[label] = lengths
        if label in hard:
            tests[f"{label} hard"] = Hard(lengths)
    return tests


class Examiner(abc.ABC):
    """Tests the models of all seeds."""

    @abc.abstractmethod
    def __call__(self, models: Model, seeds: Seeds, draw: Draw) -> dict[str, Measured]:
        """The results of every seed, by the label of each test."""

    def compile(self, models: Model, seeds: Seeds, draw: Draw) -> None:  # noqa: B027 by default there is nothing
        """Compiles what such a call runs, without running it; the weights can be arbitrary."""


class ProblemExaminer(Examiner):
    """Scores on random and hard problems of a task at several lengths, with one compiled program."""

    def __init__(self, task: Task, tests: Mapping[str, Lengths | Hard], seeds: int, batch_size: int = BATCH):
        """`tests` are by label; `seeds` is the number of models tested together."""
        self._tests, self._batch_size, self._kinds = tests, batch_size, task.hard_kinds
        self._mesh = device_mesh(seeds)
        longest = max(_lengths(test).largest for test in tests.values())
        some_are_hard = any(isinstance(test, Hard) for test in tests.values())
        self._examine = compiled_once(_examine, self._mesh, task, batch_size, longest, some_are_hard)

    def __call__(self, models: Model, seeds: Seeds, draw: Draw) -> dict[str, Measured]:
        """The number of problems is rounded up to whole batches."""
        return {label: self._score(models, seeds, test, draw) for label, test in self._tests.items()}

    def compile(self, models: Model, seeds: Seeds, draw: Draw) -> None:
        self._examine.lower(*self._arguments(models, seeds, next(iter(self._tests.values())), draw)).compile()

    def _arguments(self, models: Model, seeds: Seeds, test: Lengths | Hard, draw: Draw) -> tuple[Any, ...]:
        lengths = _lengths(test)
        batches = -(-draw.problems // self._batch_size)
        keys = jax.random.split(shared_key(draw.purpose, draw.counter, lengths.smallest, lengths.largest), batches)
        drawn = jax.vmap(lengths.sample)(keys)
        return place((models, seeds), self._mesh), drawn, draw.purpose, draw.counter, isinstance(test, Hard)

    def _score(self, models: Model, seeds: Seeds, test: Lengths | Hard, draw: Draw) -> Scores:
        lengths, hard = _lengths(test), isinstance(test, Hard)
        marks, kinds = self._examine(*self._arguments(models, seeds, test, draw))
        scores = Scores.of(lengths, marks)
        return scores.with_kinds(self._kinds, kinds, marks) if hard else scores


def _lengths(test: Lengths | Hard) -> Lengths:
    return test.lengths if isinstance(test, Hard) else test


def _examine(
    task: Task,
    batch_size: int,
    longest: int,
    some_are_hard: bool,
    tested: tuple[Model, Int[Array, ""]],
    lengths: Int[Array, " batches"],
    purpose: Int[Array, ""],
    counter: Int[Array, ""],
    hard: Bool[Array, ""],
) -> tuple[Marks, Int[Array, "batches batch"] | None]:
    """The marks of one model, batch by batch, and the kinds of its problems if some may be hard."""
    model, seed = tested

    def one_batch(_: None, at: Int[Array, ""]) -> tuple[None, tuple[Marks, Int[Array, " batch"] | None]]:
        def random() -> Batch:
            return task.sample(seed_key(seed, purpose, counter, at), batch_size, lengths[at], longest)

        if not some_are_hard:
            return None, (mark(*predict(model, random())), None)
        key = seed_key(seed, HARD, purpose, counter, at)
        batch = lax.cond(hard, lambda: task.sample_hard(key, batch_size, lengths[at], longest), random)
        return None, (mark(*predict(model, batch)), task.draw_kinds(key, batch_size))

    found: tuple[Marks, Any] = lax.scan(one_batch, None, jnp.arange(lengths.shape[0]))[1]
    return found


class TextExaminer(Examiner):
    """Perplexities of the machines of all seeds on parts of a text, with carried state and memory."""

    def __init__(self, text: Text, parts: Mapping[str, Part], seeds: int, batch_size: int):
        """`parts` are by label; a part is read in `batch_size` parallel columns."""
        self._mesh = device_mesh(seeds)
        self._parts = {label: text.pieces(part, batch_size) for label, part in parts.items()}
        self._tokens = {label: len(text.corpus.part(part)) for label, part in parts.items()}

    def __call__(self, models: Model, seeds: Seeds, draw: Draw) -> dict[str, Measured]:
        placed = place(models, self._mesh)
        read = compiled_once(piece_surprises, self._mesh)
        found: dict[str, Measured] = {}
        for label, pieces in self._parts.items():
            surprises = jax.device_get(read(placed, pieces))
            # Summed in double precision, since there are many pieces.
            total = surprises.astype(np.float64).sum(axis=1)
            found[label] = Perplexity(total / self._tokens[label], self._tokens[label])
        return found

    def compile(self, models: Model, seeds: Seeds, draw: Draw) -> None:
        placed, read = place(models, self._mesh), compiled_once(piece_surprises, self._mesh)
        for pieces in self._parts.values():
            read.lower(placed, pieces).compile()

"""Batches and tests of a training, for both kinds of source: generated problems, and texts read piece by piece.

Compiled programs depend only on `Lessons` (how batches are drawn and learned from). Materials with equal lessons share
them. Everything else (optimiser, schedule, starts, checkpoints, recordings) is the same for both kinds of source.
"""

import abc
import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from lantm.batch import Batch
from lantm.evaluation import Draw, Examiner, Measured, ProblemExaminer, TextExaminer, answer, mark, random_and_hard
from lantm.evaluation import reading as text_reading
from lantm.evaluation.cross_entropy import total_surprise
from lantm.evaluation.examiner import PARTS
from lantm.machine import Model, Noise
from lantm.machine.loops import get_row
from lantm.randomness import EVALUATE, NOISE, TEST, TRAIN, seed_key, shared_key
from lantm.tasks import Source, Task, Text
from lantm.tasks.pieces import Pieces
from lantm.training.curriculum import Reached
from lantm.training.experiment import Experiment
from lantm.training.loss import negative_log_likelihood
from lantm.training.problems import draw_problems
from lantm.training.recipe import Recipe

Given = Any
"""The input of one training step: a batch of problems, or a piece of a text."""


class Lessons(abc.ABC):
    """How batches are drawn and their loss is computed; compared by its fields."""

    recipe: Recipe

    @property
    @abc.abstractmethod
    def batches(self) -> int:
        """The number of batches per epoch."""

    @property
    def independent(self) -> bool:
        """Whether batches are drawn, and do not depend on what was learnt from earlier ones."""
        return False

    @abc.abstractmethod
    def begin(self, model: Model) -> PyTree:
        """The initial value of what is carried from batch to batch."""

    @abc.abstractmethod
    def take(
        self, data: PyTree, seed: Int[Array, ""], epoch: Int[Array, ""], at: Int[Array, ""], carried: PyTree
    ) -> Given:
        """Batch number `at` of an epoch, for a seed."""

    @abc.abstractmethod
    def loss(self, model: Model, given: Given, carried: PyTree, at: Int[Array, ""]) -> tuple[Float[Array, ""], PyTree]:
        """The mean loss per symbol, and the new carried value."""


class Material(abc.ABC):
    """The training batches and the tests of all machines."""

    lessons: Lessons
    per_batch: int
    """The number of problems, or words, per batch."""
    counts: Float[np.ndarray, " batches"]
    """The weight of each batch in the mean loss of the epoch."""
    data: PyTree
    """The data on the device that batches are taken from; shared by all seeds."""
    tests: Examiner
    """The tests during training."""
    final: Examiner
    """The tests of the best weights at the end."""

    @property
    def batches(self) -> int:
        """The number of batches per epoch."""
        return self.lessons.batches

    @abc.abstractmethod
    def selecting(self, tests: dict[str, Measured]) -> list[Measured]:
        """The tests that select the best weights: shortest lengths first, at each length random before hard
        problems."""


def make_material(experiment: Experiment, source: Source) -> Material:
    """The material of an experiment."""
    return TextMaterial(experiment, source) if isinstance(source, Text) else ProblemMaterial(experiment, source)


class Lesson(NamedTuple):
    """A batch of problems for one training step."""

    problems: Batch
    noise: PRNGKeyArray
    lengths: Int[Array, " batch"]


@dataclasses.dataclass(frozen=True)
class ProblemLessons(Lessons):
    """Problems of a task, drawn on the device.

    All seeds have the same lengths, so that they run the same number of steps, except with an adaptive curriculum.
    """

    recipe: Recipe
    task: Task

    @property
    def batches(self) -> int:
        return self.recipe.batches

    @property
    def independent(self) -> bool:
        return not self.recipe.curriculum_threshold

    def begin(self, model: Model) -> Reached | None:
        """The initial state of an adaptive curriculum; without one, nothing is carried."""
        recipe = self.recipe
        return Reached.start(self.task.train_lengths, recipe.curriculum_step) if recipe.curriculum_threshold else None

    def take(
        self, data: PyTree, seed: Int[Array, ""], epoch: Int[Array, ""], at: Int[Array, ""], carried: Reached | None
    ) -> Lesson:
        """Problems, the key of their noise, and their lengths."""
        recipe, task = self.recipe, self.task
        keys = jax.random.split(shared_key(TRAIN, epoch, at), recipe.batch_size if recipe.mixed_lengths else 1)
        lengths = jax.vmap(lambda key: recipe.draw_length(task.train_lengths, epoch, key, seed, carried))(keys)
        lengths = lengths if recipe.mixed_lengths else lengths[0]
        problems = draw_problems(recipe, task, seed, epoch, at, lengths)
        return Lesson(problems, seed_key(seed, NOISE, epoch, at), jnp.broadcast_to(lengths, (recipe.batch_size,)))

    def loss(
        self, model: Model, given: Lesson, carried: Reached | None, at: Int[Array, ""]
    ) -> tuple[Float[Array, ""], Reached | None]:
        recipe = self.recipe
        noise = Noise(given.noise, recipe.noise) if recipe.noise else None
        found = answer(model, given.problems, noise=noise)
        if carried is not None:
            marks = mark(jnp.argmax(found.logits, axis=-1), found.targets, found.mask)
            settings = (recipe.curriculum_threshold, recipe.curriculum_step)
            carried = carried.after(self.task.train_lengths, given.lengths, marks, *settings)
        return negative_log_likelihood(found), carried


class ProblemMaterial(Material):
    """Random and hard problems of a task."""

    def __init__(self, experiment: Experiment, task: Task):
        recipe = experiment.recipe
        self.lessons = ProblemLessons(recipe, task)
        self.per_batch, self.data = recipe.batch_size, ()
        self.counts = np.ones(recipe.batches, np.float32)
        random, hard = (
            {f"{scale}x": task.lengths_at(scale) for scale in scales}
            for scales in (recipe.test_scales, recipe.test_hard_scales)
        )
        tests = random_and_hard(random, hard)
        self.tests = self.final = ProblemExaminer(task, tests, experiment.machines, recipe.batch_size)

    def selecting(self, tests: dict[str, Measured]) -> list[Measured]:
        recipe = self.lessons.recipe
        scales = sorted({*recipe.test_scales, *recipe.test_hard_scales})
        labels = [label for scale in scales for label in (f"{scale}x", f"{scale}x hard")]
        return [tests[label] for label in labels if label in tests]


@dataclasses.dataclass(frozen=True)
class TextLessons(Lessons):
    """A text, read piece by piece with carried state and memory; an epoch is one pass (section 4.3)."""

    recipe: Recipe
    pieces: int

    @property
    def batches(self) -> int:
        return self.pieces

    def begin(self, model: Model) -> PyTree:
        return text_reading.begin(model, self.recipe.batch_size, self.recipe.steps)

    def take(
        self, data: Pieces, seed: Int[Array, ""], epoch: Int[Array, ""], at: Int[Array, ""], carried: PyTree
    ) -> Pieces:
        return Pieces(*(get_row(rows, at) for rows in data))

    def loss(self, model: Model, given: Pieces, carried: PyTree, at: Int[Array, ""]) -> tuple[Float[Array, ""], PyTree]:
        features, carried = text_reading.read_piece(model, given.inputs, carried, at)
        surprise = total_surprise(model.readout, features, given.targets, given.mask)
        return surprise / jnp.sum(given.mask), carried


class TextMaterial(Material):
    """The three parts of a text."""

    def __init__(self, experiment: Experiment, text: Text):
        recipe = experiment.recipe
        self.data = text.pieces("train", recipe.batch_size)
        self.lessons, self.per_batch = TextLessons(recipe, self.data.number), recipe.batch_size * recipe.steps
        self.counts = np.asarray(self.data.mask).sum(axis=(1, 2)).astype(np.float32)
        self.tests = TextExaminer(text, {"validation": PARTS["validation"]}, experiment.machines, recipe.batch_size)
        self.final = TextExaminer(text, PARTS, experiment.machines, recipe.batch_size)

    def selecting(self, tests: dict[str, Measured]) -> list[Measured]:
        return [tests["validation"]]


def periodic_draw(recipe: Recipe, epoch: int) -> Draw:
    """The problems of a test during training."""
    return Draw(recipe.test_batches * recipe.batch_size, TEST, epoch)


def final_draw(recipe: Recipe) -> Draw:
    """The problems of the test at the end."""
    return Draw(recipe.test_batches * recipe.batch_size, EVALUATE, 0)

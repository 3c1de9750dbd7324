"""The counting behind `lantm verify`: exact answers at one length, on random and hard problems, and the first mistake.

A problem depends only on its length, the draw, its kind and its index, not on the number of problems or the batch size.
So the first ten of a hundred problems are the same as the ten of a smaller request, on any computer.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Int

from lantm.batch import Batch, side_by_side
from lantm.compiling import quick_and_exact
from lantm.devices import compiled_once, device_mesh, local_devices, on_cpu, place
from lantm.evaluation.answer import Prediction, predict
from lantm.evaluation.recording import one_problem
from lantm.evaluation.scores import Marks, mark
from lantm.evaluation.verification import Mistake, Part, Tally, Verification
from lantm.machine import Model
from lantm.randomness import VERIFY, seed_key
from lantm.tasks import Task

RANDOM = "random"
"""The kind of problems drawn by `Task.sample`; the other kinds are those of `Task.hard_kinds`."""

Watch = Callable[[str, Part], object]
"""A callback with the name of a part and its counts so far."""


def verify(
    model: Model,
    task: Task,
    length: int,
    problems: int,
    parts: dict[str, tuple[str, ...]],
    draw: int = 1,
    watch: Watch | None = None,
) -> Verification:
    """Runs `problems` problems of every part, cycling through its kinds. Ctrl-C ends it early."""
    program = _Program(model, task, length, draw, problems)
    counted = {name: Part({kind: Tally() for kind in kinds}) for name, kinds in parts.items()}
    mistake: Mistake | None = None
    complete = True
    try:
        for name, kinds in parts.items():
            for some in program.run(kinds, problems):
                counted[name] = _added(counted[name], some, task.steps(length))
                mistake = mistake or some.first_mistake()
                if watch is not None:
                    watch(name, counted[name])
    except KeyboardInterrupt:
        complete = False
    return Verification(length, draw, counted.get("random"), counted.get("hard"), mistake, complete)


class _AtOnce(NamedTuple):
    """The limits of a batch: the total number of steps, and the number of problems; at least one problem runs."""

    steps: int
    most: int


# On a CPU, each core is a device. On one core, copies of 20,000 symbols ran no faster ten at a time than one by one. A
# step of a Lie access machine takes up to 3.3 kB, and 0.1 kB when reading through an index: the 300,000 steps of a sum
# of 100,000 digits take 30 MB.
_CPU, _ACCELERATOR = _AtOnce(steps=8192, most=32), _AtOnce(steps=2**20, most=1024)


def batch_size(steps: int, at_once: _AtOnce = _CPU) -> int:
    """The number of problems of `steps` steps that a device runs in one batch.

    >>> batch_size(130), batch_size(2050), batch_size(200_002)
    (32, 3, 1)
    """
    return max(1, min(at_once.most, at_once.steps // steps))


class _Ran(NamedTuple):
    """A batch with the machine's predictions and marks."""

    batch: Batch
    prediction: Prediction
    marks: Marks


class _Some(NamedTuple):
    """The results of one batch, with an axis of devices; `kinds` and `numbers` leave the padding out."""

    kinds: list[str]
    numbers: list[int]
    ran: _Ran
    seconds: float

    @property
    def right(self) -> list[bool]:
        """Whether each answer is exact."""
        exact = np.asarray(self.ran.marks.right) == np.asarray(self.ran.marks.size)
        found: list[bool] = exact.reshape(-1)[: len(self.kinds)].tolist()
        return found

    def first_mistake(self) -> Mistake | None:
        if all(self.right):
            return None
        at = self.right.index(False)
        device, column = divmod(at, self.ran.marks.right.shape[1])
        alone = jax.tree.map(lambda leaf: jnp.asarray(np.asarray(leaf[device])), self.ran)
        asked = np.asarray(alone.prediction.mask)[:, column]
        problem = one_problem(alone.batch, column)
        symbols, targets = (
            np.asarray(rows)[asked, column].tolist() for rows in (alone.prediction.predicted, alone.prediction.targets)
        )
        inputs = np.asarray(problem.inputs)[1 : int(problem.steps) - len(targets), 0].tolist()
        return Mistake(self.kinds[at], self.numbers[at], problem, inputs, targets, symbols)


class _Program:
    """Compiled programs that draw and run problems of any kind."""

    def __init__(self, model: Model, task: Task, length: int, draw: int, problems: int):
        """Compiles them; `problems` is the total number of problems."""
        size = batch_size(task.steps(length), _CPU if on_cpu() else _ACCELERATOR)
        devices = min(len(local_devices()), -(-problems // size))
        self._shape = devices, min(size, -(-problems // devices))
        self._kinds = {RANDOM: -1} | {kind: index for index, kind in enumerate(task.hard_kinds)}
        self._mesh = device_mesh(devices)
        self._model = jax.tree.map(jnp.asarray, model)
        asked = self._asked([RANDOM], [0])
        # All kinds together are much to compile, and drawing them takes little of the time.
        drawing = compiled_once(_drawn, self._mesh, task, length, draw).lower(asked)
        self._draw = drawing.compile(quick_and_exact())
        self._run = compiled_once(_run, self._mesh).lower(self._draw(asked), self._model).compile()

    def run(self, kinds: Sequence[str], problems: int) -> Iterator[_Some]:
        """Runs problems, cycling through these kinds."""
        at_once = self._shape[0] * self._shape[1]
        for first in range(0, problems, at_once):
            numbers = list(range(first, min(first + at_once, problems)))
            chosen = [kinds[number % len(kinds)] for number in numbers]
            began = time.perf_counter()
            ran: _Ran = self._run(self._draw(self._asked(chosen, numbers)), self._model)
            last: Any = ran.marks.right
            while not last.is_ready():  # lets Python handle Ctrl-C while waiting
                time.sleep(0.01)
            yield _Some(chosen, numbers, ran, time.perf_counter() - began)

    def _asked(self, kinds: Sequence[str], numbers: Sequence[int]) -> Any:
        """The kinds and numbers of problems, placed on the devices; padding repeats the last problem."""
        rows = ([self._kinds[kind] for kind in kinds], numbers)
        missing = self._shape[0] * self._shape[1] - len(numbers)
        filled = (np.pad(np.asarray(row, np.int32), (0, missing), "edge").reshape(self._shape) for row in rows)
        return place(tuple(filled), self._mesh)


def _drawn(task: Task, length: int, draw: int, asked: tuple[Int[Array, " batch"], Int[Array, " batch"]]) -> Batch:
    return side_by_side(lax.map(lambda one: _draw(task, length, draw, *one), asked))


def _run(batch: Batch, model: Model) -> _Ran:
    prediction = predict(model, batch)
    return _Ran(batch, prediction, mark(*prediction))


def _draw(task: Task, length: int, draw: int, kind: Int[Array, ""], number: Int[Array, ""]) -> Batch:
    """One problem; `kind` is an index of a hard kind, or -1 for a random problem."""
    key = seed_key(draw, VERIFY, kind + 1, number)
    problem: Batch = lax.cond(
        kind < 0,
        lambda: task.sample(key, 1, length, length),
        lambda: task.sample_hard(key, 1, length, length, jnp.maximum(kind, 0)),
    )
    return problem


def _added(part: Part, some: _Some, steps: int) -> Part:
    kinds = dict(part.kinds)
    for kind, right in zip(some.kinds, some.right, strict=True):
        kinds[kind] = Tally(kinds[kind].right + right, kinds[kind].problems + 1)
    return Part(kinds, part.steps + steps * len(some.kinds), part.seconds + some.seconds)

"""`Solution`: a machine's answer to a problem given as text."""

import dataclasses

import jax
import numpy as np

from lantm.batch import Batch
from lantm.compiling import compiled_quickly
from lantm.devices import on_cpu
from lantm.errors import LantmError
from lantm.evaluation import Prediction, predict
from lantm.evaluation.answer import LONG
from lantm.machine import Backend, Model
from lantm.tasks import Source, Task

_SHORT = 1000  # steps: for shorter problems a second loop takes longer to compile than it saves


@dataclasses.dataclass(frozen=True)
class Solution:
    """A machine's answer to a problem, and the expected answer."""

    task: str
    problem: str
    answer: str
    """The answer as text. For a text, the predicted next word."""
    expected: str | None
    """The expected answer; None for a text, whose next word is unknown."""
    right: bool | None
    inputs: list[int] = dataclasses.field(repr=False)
    """The symbols of the problem."""
    symbols: list[int] = dataclasses.field(repr=False)
    """The symbols of the machine's answer, including the end symbol."""
    targets: list[int] = dataclasses.field(repr=False)
    """The expected symbols."""

    @property
    def symbols_right(self) -> int:
        """The number of correct symbols."""
        return sum(one == other for one, other in zip(self.symbols, self.targets, strict=True))


def _answered(model: Model, batch: Batch) -> Prediction:
    """The model's prediction for a single problem.

    Short problems take less time to run than to compile. On a CPU they use one loop for reading and answering, compiled
    with fast compiler options.
    """
    steps = batch.inputs.shape[0]
    if steps >= LONG:
        prediction: Prediction = jax.jit(predict)(model, batch)
    else:
        backend: Backend = "scan" if steps <= _SHORT and on_cpu() else "auto"
        prediction = compiled_quickly(predict, static_argnums=2)(model, batch, backend)
    return prediction


def encoded(source: Source, problem: str) -> Batch:
    """The batch of a problem given as text."""
    if not isinstance(problem, str):
        raise LantmError(f"{source.name} takes problems as text, not {problem!r}: put it into quotes")
    return source.encode(problem)


def solve(model: Model, source: Source, problem: str) -> Solution:
    """Runs a machine on a problem given as text."""
    batch = encoded(source, problem)
    given = jax.device_get(_answered(model, batch))
    asked = given.mask[:, 0]
    symbols, targets = given.predicted[asked, 0].tolist(), given.targets[asked, 0].tolist()
    answering = np.asarray(batch.mask)[:, 0]
    if not isinstance(source, Task):
        inputs = np.asarray(batch.inputs)[:, 0].tolist()
        guess = source.symbol_name(symbols[-1])
        return Solution(source.name, problem, guess, None, None, inputs, symbols, targets)
    inputs = np.asarray(batch.inputs)[1 : int(np.argmax(answering)), 0].tolist()
    answer, expected = source.decode_answer(symbols), source.expected(problem)
    return Solution(source.name, problem, answer, expected, symbols == targets, inputs, symbols, targets)

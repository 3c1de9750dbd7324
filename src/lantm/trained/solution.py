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

_SHORT = 1000  # steps: up to here a second loop takes longer to compile than it saves


@dataclasses.dataclass(frozen=True)
class Solution:
    """What a machine answered, and what is right."""

    task: str
    problem: str
    answer: str
    """As a person would write it. For a text, the guess at the next word."""
    expected: str | None
    """The right answer; None for a text, whose next word is unknown."""
    right: bool | None
    inputs: list[int]
    """The symbols of the problem."""
    symbols: list[int]
    """The symbols that the machine answered, the end symbol included."""
    targets: list[int]
    """The right symbols."""

    @property
    def symbols_right(self) -> int:
        """The number of symbols that are right."""
        return sum(one == other for one, other in zip(self.symbols, self.targets, strict=True))


def _answered(model: Model, batch: Batch) -> Prediction:
    """What the model answers to a problem that is answered once.

    Few steps run for less time than they compile. A CPU compiles one loop for both reading and answering then, and
    compiles it quickly.
    """
    steps = batch.inputs.shape[0]
    if steps >= LONG:
        prediction: Prediction = jax.jit(predict)(model, batch)
    else:
        backend: Backend = "scan" if steps <= _SHORT and on_cpu() else "auto"
        prediction = compiled_quickly(predict, static_argnums=2)(model, batch, backend)
    return prediction


def encoded(source: Source, problem: str) -> Batch:
    """The batch of a problem, as a person writes it."""
    if not isinstance(problem, str):
        raise LantmError(f"{source.name} takes problems as text, not {problem!r}: put it into quotes")
    return source.encode(problem)


def solve(model: Model, source: Source, problem: str) -> Solution:
    """Runs a machine on a problem, as a person writes it."""
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

"""A problem that a person wrote, answered by a machine."""

import dataclasses

import jax
import numpy as np

from lantm.evaluation import predict
from lantm.evaluation.answer import LONG
from lantm.machine import Model
from lantm.tasks import Source, Task


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


def _compiler_options(steps: int) -> dict[str, int]:
    """It runs once: for few steps fast compilation is better than fast code, which a long run takes a sixth of.

    >>> _compiler_options(30), _compiler_options(200_002)
    ({'xla_backend_optimization_level': 0}, {})
    """
    return {"xla_backend_optimization_level": 0} if steps < LONG else {}


def solve(model: Model, source: Source, problem: str) -> Solution:
    """Runs a machine on a problem, as a person writes it."""
    batch = source.encode(problem)
    program = jax.jit(predict, compiler_options=_compiler_options(batch.inputs.shape[0]))
    given = jax.device_get(program(model, batch))
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

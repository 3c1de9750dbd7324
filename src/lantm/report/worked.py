"""A worked problem in the paper's layout (appendix, figures of double and addition).

    problem
      423
    + 094
    =
    ∎0517
    LANTM prediction
    ∎0527
    diff
    ___*_

Numbers have their most significant digit first, `∎` is the end symbol, and `*` marks wrong digits. Lines that are too
long for a width show their two ends and what is around the first mistake, digit under digit.
"""

import itertools
from collections.abc import Sequence
from typing import NamedTuple

from lantm.report.marks import symbol_mark
from lantm.tasks import Double, NumberTask, Programs, Task

_NARROWEST = 60  # columns: room for the ends of a line, its first mistake, and what is said of the rest


class Worked(NamedTuple):
    """The lines of a worked problem."""

    problem: list[str]
    right: str
    given: str
    marks: str


def worked_problem(
    task: Task,
    inputs: Sequence[int],
    targets: Sequence[int],
    predicted: Sequence[int],
    by: str = "LANTM",
    width: int | None = None,
) -> str:
    """The lines of a problem: its input symbols, the right answer and the given one, both in the order of time."""
    worked = work_out(task, inputs, targets, predicted, width)
    lines = ["problem", *worked.problem, "=", worked.right, f"{by} prediction", worked.given, "diff", worked.marks]
    return "\n".join(lines)


def work_out(
    task: Task,
    inputs: Sequence[int],
    targets: Sequence[int],
    predicted: Sequence[int],
    width: int | None = None,
) -> Worked:
    """The same, line by line; lines of numbers have equal length, digit under digit. By default nothing is left out."""
    backwards = task.lowest_first if isinstance(task, NumberTask) else isinstance(task, Programs)
    names = {symbol: symbol_mark(task, symbol) for symbol in {*inputs, *targets, *predicted}}
    right, given = ([names[symbol] for symbol in answer] for answer in (targets, predicted))
    if backwards:
        right, given = right[::-1], given[::-1]
    # A name may be longer than one character: what is below it has the same width.
    widths = [max(len(one), len(other)) for one, other in zip(right, given, strict=True)]
    right, given = ([name.ljust(room) for name, room in zip(line, widths, strict=True)] for line in (right, given))
    marks = [("_" if one == other else "*") * len(one) for one, other in zip(right, given, strict=True)]
    wrong = [at for at, mark in enumerate(marks) if "*" in mark]
    kept = _kept(len(right), width, (wrong[-1] if backwards else wrong[0]) if wrong else None)
    problem = [
        _join(line, kept if isinstance(task, NumberTask) and len(line) == len(right) else _kept(len(line), width))
        for line in _problem(task, [names[symbol] for symbol in inputs])
    ]
    return Worked(problem, _join(right, kept).rstrip(), _join(given, kept).rstrip(), _join(marks, kept))


def shorten(text: str, width: int) -> str:
    """A text that fits the width: if it is too long, its two ends, and how much is left out between them.

    >>> shorten("0123456789" * 8, 60)
    '01234567890123456789012 … 34 more … 78901234567890123456789'
    """
    return _join(list(text), _kept(len(text), width))


def first_mistake(task: Task, targets: Sequence[int], predicted: Sequence[int]) -> str:
    """A sentence about the first symbol that is wrong, in the order of time, in which one is."""
    at = next(at for at, (one, other) in enumerate(zip(targets, predicted, strict=True)) if one != other)
    right, given = targets[at], predicted[at]
    if right == task.end_of_output:
        return f"all {at:,} symbols are right, but it does not end there: it goes on with “{task.symbol_name(given)}”"
    place = f"symbol {at + 1:,}"
    if isinstance(task, NumberTask):
        place = f"digit {at + 1:,} from the {'right' if task.lowest_first else 'left'}"
    said = "where it ends" if given == task.end_of_output else f"where it says “{task.symbol_name(given)}”"
    return f"the first mistake is {place}, {said} instead of “{task.symbol_name(right)}”"


def _problem(task: Task, names: list[str]) -> list[list[str]]:
    if task.name == "addition":
        # The second number's digits come first (table "Input/output examples").
        return [[" ", " ", *names[1::2][::-1]], ["+", " ", *names[0::2][::-1]]]
    if isinstance(task, Double):  # above its digits in the answer, which `$` begins or ends
        return [list("2 x"), [" ", " ", *names[::-1]] if task.lowest_first else [" ", *names, " "]]
    if isinstance(task, Programs):
        return [list(line) for line in "".join(names).split(";")]
    return [list(task.name), [" ", " ", *task.written(names)]]


def _kept(size: int, width: int | None, mistake: int | None = None) -> list[range]:
    """The columns of a line that are shown: all that fit, or the two ends and what is around a mistake."""
    if width is None or size <= max(width, _NARROWEST):
        return [range(size)]
    width = max(width, _NARROWEST)
    end = (width - len(_left_out(size))) // 2
    if mistake is None or not end <= mistake < size - end:
        return [range(end), range(size - end, size)]
    end = (width - 2 * len(_left_out(size))) // 3
    before = mistake - end // 2
    return [range(end), range(before, before + end), range(size - end, size)]


def _join(names: Sequence[str], kept: list[range]) -> str:
    """The columns that are shown, and between them how many are not."""
    line = "".join(names[kept[0].start : kept[0].stop])
    for before, after in itertools.pairwise(kept):
        line += _left_out(after.start - before.stop) + "".join(names[after.start : after.stop])
    return line


def _left_out(symbols: int) -> str:
    return f" … {symbols:,} more … "

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
long show their two ends and the surroundings of the first mistake, with digits aligned.
"""

import itertools
from collections.abc import Sequence
from typing import NamedTuple

from lantm.report.marks import symbol_mark
from lantm.tasks import Double, NumberTask, Programs, Task

_NARROWEST = 60  # minimum width: the ends of a line, its first mistake, and the number of omitted symbols


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
    """The text of a worked problem, from its input, expected and predicted symbols in order of time."""
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
    """The lines of a worked problem; digits are aligned. Without `width` nothing is omitted."""
    backwards = task.lowest_first if isinstance(task, NumberTask) else isinstance(task, Programs)
    names = {symbol: symbol_mark(task, symbol) for symbol in {*inputs, *targets, *predicted}}
    right, given = ([names[symbol] for symbol in answer] for answer in (targets, predicted))
    if backwards:
        right, given = right[::-1], given[::-1]
    # A symbol's name may be longer than one character, so columns have different widths.
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
    """A text that fits the width: if necessary, its two ends, and the number of characters omitted between them.

    >>> shorten("0123456789" * 8, 60)
    '01234567890123456789012 … 34 more … 78901234567890123456789'
    """
    return _join(list(text), _kept(len(text), width))


def first_mistake(task: Task, targets: Sequence[int], predicted: Sequence[int]) -> str:
    """A sentence about the first wrong symbol, in order of time."""
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
    if isinstance(task, Double):  # aligned with the digits of the answer, which begins or ends with the end symbol
        return [list("2 x"), [" ", " ", *names[::-1]] if task.lowest_first else [" ", *names, " "]]
    if isinstance(task, Programs):
        return [list(line) for line in "".join(names).split(";")]
    return [list(task.name), [" ", " ", *task.written(names)]]


def _kept(size: int, width: int | None, mistake: int | None = None) -> list[range]:
    """The columns to show: all if they fit, otherwise the two ends and the surroundings of a mistake."""
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
    """The shown columns, with the number of omitted ones between them."""
    line = "".join(names[kept[0].start : kept[0].stop])
    for before, after in itertools.pairwise(kept):
        line += _left_out(after.start - before.stop) + "".join(names[after.start : after.stop])
    return line


def _left_out(symbols: int) -> str:
    return f" … {symbols:,} more … "

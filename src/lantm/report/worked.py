"""A problem worked out by a machine, in the paper's layout (appendix, figures of double and addition).

    problem
      423
    + 094
    =
    $0517
    LANTM prediction
    $0527
    diff
    ___*_

Numbers have their most significant digit first, `$` is the end symbol, and `*` marks wrong digits.
"""

from collections.abc import Sequence
from typing import NamedTuple

from lantm.tasks import NumberTask, Programs, Task

_END = "$"


class Worked(NamedTuple):
    """The lines of a worked problem."""

    problem: list[str]
    right: str
    given: str
    marks: str


def worked_problem(
    task: Task, inputs: Sequence[int], targets: Sequence[int], predicted: Sequence[int], by: str = "LANTM"
) -> str:
    """The lines of a problem: its input symbols, the right answer and the given one, both in the order of time."""
    worked = work_out(task, inputs, targets, predicted)
    lines = ["problem", *worked.problem, "=", worked.right, f"{by} prediction", worked.given, "diff", worked.marks]
    return "\n".join(lines)


def work_out(task: Task, inputs: Sequence[int], targets: Sequence[int], predicted: Sequence[int]) -> Worked:
    """The same, line by line; lines of numbers have equal length, digit under digit."""
    arithmetic = isinstance(task, NumberTask | Programs)

    def line(symbols: Sequence[int]) -> list[str]:
        names = [_END if symbol == task.end_of_output else task.symbol_name(symbol) for symbol in symbols]
        return names[::-1] if arithmetic else names

    right, given = line(targets), line(predicted)
    # A name may be longer than one character: what is below it has the same width.
    widths = [max(len(one), len(other)) for one, other in zip(right, given, strict=True)]
    marks = [("_" if one == other else "*") * width for one, other, width in zip(right, given, widths, strict=True)]
    problem = _problem(task, list(map(task.symbol_name, inputs)))
    return Worked(problem, _aligned(right, widths), _aligned(given, widths), "".join(marks))


def _problem(task: Task, names: list[str]) -> list[str]:
    if task.name == "addition":
        # The second number's digits come first (table "Input/output examples").
        return ["  " + "".join(names[1::2][::-1]), "+ " + "".join(names[0::2][::-1])]
    if task.name == "double":
        return ["2 x", "  " + "".join(names[::-1])]
    if isinstance(task, Programs):
        return "".join(names).split(";")
    return [task.name, "  " + "".join(names)]


def _aligned(names: list[str], widths: list[int]) -> str:
    return "".join(name.ljust(width) for name, width in zip(names, widths, strict=True)).rstrip()

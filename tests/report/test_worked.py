"""The paper's worked problems, line by line."""

import numpy as np
import pytest

from lantm.report import worked_problem
from lantm.tasks import make_task


def worked(name: str, text: str, wrong: dict[int, int]) -> str:
    """A problem as a machine would answer that is wrong at some places, in the order of time."""
    task = make_task(name)
    batch = task.encode(text)
    targets = np.asarray(batch.targets)[np.asarray(batch.mask)[:, 0], 0].tolist()
    given = [wrong.get(place, symbol) for place, symbol in enumerate(targets)]
    inputs = np.asarray(batch.inputs)[1 : int(batch.writes[0]), 0].tolist()
    return worked_problem(task, inputs, targets, given)


def test_the_papers_addition() -> None:
    text = "12073190535916485602949518287285 + 86090378999878149582784619496855"
    assert worked("addition", text, {}).splitlines() == [
        "problem",
        "  12073190535916485602949518287285",
        "+ 86090378999878149582784619496855",
        "=",
        "$098163569535794635185734137784140",
        "LANTM prediction",
        "$098163569535794635185734137784140",
        "diff",
        "_" * 34,
    ]


def test_the_papers_addition_with_mistakes() -> None:
    """The end symbol comes too early: the paper's figure of 64 digits."""
    left = "7551725121767466617753259624470709413611531758233121189170215537"
    right = "6546773181603442580771303866863379302959060107624784946180377555"
    end = make_task("addition").end_of_output
    lines = worked("addition", f"{left} + {right}", {64: end, 63: end, 62: end, 61: 1}).splitlines()
    assert lines[4] == "$14098498303370909198524563491334088716570591865857906135350593092"
    assert lines[6] == "$$$$18498303370909198524563491334088716570591865857906135350593092"
    assert lines[8] == "_****" + "_" * 61


def test_double() -> None:
    lines = worked("double", "829", {1: 0}).splitlines()
    assert lines[1:] == ["2 x", "  829", "=", "$1658", "LANTM prediction", "$1608", "diff", "___*_"]


@pytest.mark.parametrize(("name", "answer"), [("copy", "a [b]$"), ("reverse", "]b[ a$")])
def test_text_is_read_from_the_left(name: str, answer: str) -> None:
    lines = worked(name, "a [b]", {}).splitlines()
    assert lines[1:5] == [name, "  a [b]", "=", answer]
    assert lines[-1] == "______"


def test_symbols_without_a_character_are_marked_as_wide_as_they_are() -> None:
    task = make_task("copy")
    lines = worked("copy", "abc", {1: task.start}).splitlines()
    assert lines[6] == "a<s>c$"
    assert lines[8] == "_***__"
    assert lines[4].index("c") == lines[6].index("c")

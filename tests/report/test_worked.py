"""The paper's worked problems, line by line."""

import numpy as np
import pytest

from lantm.report import first_mistake, worked_problem
from lantm.tasks import Task, make_task


def answered(name: str, text: str, wrong: dict[int, int]) -> tuple[Task, list[int], list[int], list[int]]:
    """A problem as a machine would answer that is wrong at some places, in the order of time."""
    task = make_task(name)
    batch = task.encode(text)
    targets = np.asarray(batch.targets)[np.asarray(batch.mask)[:, 0], 0].tolist()
    given = [wrong.get(place, symbol) for place, symbol in enumerate(targets)]
    inputs = np.asarray(batch.inputs)[1 : int(batch.writes[0]), 0].tolist()
    return task, inputs, targets, given


def worked(name: str, text: str, wrong: dict[int, int], width: int | None = None) -> str:
    return worked_problem(*answered(name, text, wrong), width=width)


def test_the_papers_addition() -> None:
    text = "12073190535916485602949518287285 + 86090378999878149582784619496855"
    assert worked("addition", text, {}).splitlines() == [
        "problem",
        "  12073190535916485602949518287285",
        "+ 86090378999878149582784619496855",
        "=",
        "∎098163569535794635185734137784140",
        "LANTM prediction",
        "∎098163569535794635185734137784140",
        "diff",
        "_" * 34,
    ]


def test_the_papers_addition_with_mistakes() -> None:
    """The end symbol comes too early: the paper's figure of 64 digits."""
    left = "7551725121767466617753259624470709413611531758233121189170215537"
    right = "6546773181603442580771303866863379302959060107624784946180377555"
    end = make_task("addition").end_of_output
    lines = worked("addition", f"{left} + {right}", {64: end, 63: end, 62: end, 61: 1}).splitlines()
    assert lines[4] == "∎14098498303370909198524563491334088716570591865857906135350593092"
    assert lines[6] == "∎∎∎∎18498303370909198524563491334088716570591865857906135350593092"
    assert lines[8] == "_****" + "_" * 61


def test_double() -> None:
    lines = worked("double", "829", {1: 0}).splitlines()
    assert lines[1:] == ["2 x", "  829", "=", "∎1658", "LANTM prediction", "∎1608", "diff", "___*_"]


@pytest.mark.parametrize(("name", "answer"), [("copy", "a [b]∎"), ("reverse", "]b[ a∎")])
def test_text_is_read_from_the_left(name: str, answer: str) -> None:
    lines = worked(name, "a [b]", {}).splitlines()
    assert lines[1:5] == [name, "  a [b]", "=", answer]
    assert lines[-1] == "______"


def test_symbols_without_a_character_are_marked_as_wide_as_they_are() -> None:
    task = make_task("copy")
    lines = worked("copy", "abc", {1: task.start}).splitlines()
    assert lines[6] == "a<s>c∎"
    assert lines[8] == "_***__"
    assert lines[4].index("c") == lines[6].index("c")


# Long problems.


def long_sum(digits: int, wrong: dict[int, int], width: int) -> list[str]:
    """Of 123..: any digit tells its place by what it is above."""
    left, right = ("1234567890" * (digits // 10 + 1))[:digits], "1" * digits
    return worked("addition", f"{left} + {right}", wrong, width).splitlines()


def test_what_fits_is_shown_in_full() -> None:
    assert long_sum(78, {}, 80) == long_sum(78, {}, 10_000)
    assert len(long_sum(78, {}, 80)[1]) == 80


@pytest.mark.parametrize(("digits", "width"), [(79, 80), (5000, 80), (20_000, 80), (5000, 60), (5000, 200)])
def test_a_long_sum_shows_its_ends_digit_under_digit(digits: int, width: int) -> None:
    lines, full = long_sum(digits, {}, width), long_sum(digits, {}, 10**6)
    assert max(map(len, lines)) <= width
    for line, whole in zip(lines, full, strict=True):
        if len(whole) == digits + 2:
            head, left_out, tail = line.split(" … ")
            assert whole.startswith(head)
            assert whole.endswith(tail)
            assert left_out == f"{digits + 2 - len(head) - len(tail):,} more"
            assert (len(head), len(line)) == (len(lines[1].split(" … ")[0]), len(lines[1])), "one under the other"
        else:
            assert line == whole


def test_the_first_mistake_of_a_long_sum_is_shown() -> None:
    """The first in the order of time is the rightmost: of two, that of the lower digit."""
    lines = long_sum(5000, {2000: 0, 3000: 0}, 80)
    assert max(map(len, lines)) <= 80
    (at,) = [at for at, mark in enumerate(lines[8]) if mark == "*"]
    assert lines[6][at] == "0" != lines[4][at]
    assert int(lines[4][at]) == (int(lines[1][at]) + 1) % 10 == (2 + 2999) % 10, "digit 2,999 of 123.. from 0, plus 1"
    left, right = (int(part.split()[1].replace(",", "")) for part in lines[8].split("_ ")[1:])
    shown = [len(part.split(" ")[0]) for part in lines[8].split("more … ")]
    assert left + right + sum(shown) == 5002
    assert right + shown[2] + (shown[1] - 1 - lines[8].split("more … ")[1].index("*")) == 2000, "symbols before it"


def test_a_mistake_at_an_end_needs_no_place_of_its_own() -> None:
    assert long_sum(5000, {3: 0}, 80)[8].count("…") == 2
    assert long_sum(5000, {4999: 0}, 80)[8].count("…") == 2


def test_a_long_text() -> None:
    lines = worked("reverse", "abcdefghij" * 50, {250: 3}, 80).splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[2].startswith("  abcdefghij")
    assert lines[2].endswith("abcdefghij")
    assert lines[4].startswith("jihgfedcba")
    assert lines[4].endswith("cba∎")
    assert lines[8].count("*") == 1


@pytest.mark.parametrize(
    ("name", "text", "wrong", "sentence"),
    [
        (
            "addition",
            "99 + 1",
            {1: 7, 2: 5},
            "the first mistake is digit 2 from the right, where it says “7” instead of “0”",
        ),
        ("copy", "abc", {1: 33}, "the first mistake is symbol 2, where it says “A” instead of “b”"),
        ("copy", "abc", {2: 127}, "the first mistake is symbol 3, where it ends instead of “c”"),
        ("copy", "abc", {3: 33}, "all 3 symbols are right, but it does not end there: it goes on with “A”"),
    ],
)
def test_the_first_mistake_in_words(name: str, text: str, wrong: dict[int, int], sentence: str) -> None:
    task, _, targets, given = answered(name, text, wrong)
    assert first_mistake(task, targets, given) == sentence

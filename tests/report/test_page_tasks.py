"""Problems as pages read and draw them, against the tasks themselves."""

from typing import Any

import numpy as np
import pytest
from engine import in_node, needs_node

from lantm.errors import LantmError
from lantm.report.pages.tasks import TASK_SCRIPTS, pack_task
from lantm.report.pages.weights import pack_problem
from lantm.tasks import TASKS, Task, make_task

pytestmark = needs_node

PROBLEMS = {
    "copy": ["a", "hello, $ <world> αΩ~"],
    "reverse": ["abc", "  x"],
    "bigramFlip": ["ab", "abcd$%"],
    "double": ["0", "829", " 0099 ", "9" * 30],
    "double[highest_first=true]": ["0", "829", "0099"],
    "oddFirst": ["ab", "abcdef", "ab cd "],
    "repeatCopy": ["3:hello", "1:a", " 2:3:4 "],
    "prioritySort": ["2:c 0:a 1:b", "0:x", "1:  0:1", "0:: 1:0"],
    "addition": ["423 + 94", "0+0", "999+1", "1 + 99999999999999999999"],
    "programs": [
        "print(4242)",
        "print((14*5608))",
        "print(5608 * 14)",
        "print((1 if 3>2 else 4))",
        "print((1 if 3<2 else 4))",
        "b=1398\nprint(b-6843)",
        "b=1398;for x in range(10):b-=6843;print(b)",
        "c = 12; for x in range(3):\n c += 5\n print(c);",
        "print((12+30))",
        "print((0-30))",
    ],
    "programs[kinds=loop]": ["b=1398;for x in range(10):b+=6843;print(b)"],
}
MISTAKES = {
    "copy": ["", "é"],
    "bigramFlip": ["abc"],
    "double": ["", "12a", "-3"],
    "oddFirst": ["abc"],
    "repeatCopy": ["hello", "0:a", "3:", "2:é"],
    "prioritySort": ["cab", "0:a1:b", "0:a 2:b", "0:a 0:b", "0:é"],
    "addition": ["1", "1+2+3", "1 + x", "12 +"],
    "programs": ["", "print", "print((12345678+1))", "print((30*31))", "k=1;print((k+2))", "b=1;print((c+2))"],
    "programs[kinds=loop]": ["print(4242)"],
}
READ = """
    return given.map(([about, text]) => {
        try { return encoded(text, about); } catch (error) { return error.message; }
    });
"""


def read(asked: dict[str, list[str]]) -> list[tuple[Task, str, Any]]:
    """Every problem with what a page makes of it."""
    cases = [(make_task(name), text) for name, texts in asked.items() for text in texts]
    found = in_node(READ, [[pack_task(task), text] for task, text in cases], TASK_SCRIPTS)
    return [(task, text, made) for (task, text), made in zip(cases, found, strict=True)]


def test_problems_are_read_as_the_tasks_do() -> None:
    for task, text, found in read(PROBLEMS):
        assert found == pack_problem(task.encode(text)), text


@pytest.mark.thorough
def test_problems_are_written_as_they_are_read() -> None:
    """The text of a problem that was drawn is one that gives the same symbols."""
    body = """
        return given.map(([about, text]) => {
            const { input } = TASKS[about.name].read(text, about);
            return [input, TASKS[about.name].read(TASKS[about.name].write(input, about), about).input];
        });
    """
    cases = [(make_task(name), text) for name, texts in PROBLEMS.items() for text in texts]
    for once, again in in_node(body, [[pack_task(task), text] for task, text in cases], TASK_SCRIPTS):
        assert once == again


def test_what_is_no_problem_is_refused_in_a_line() -> None:
    for task, text, found in read(MISTAKES):
        with pytest.raises(LantmError):
            task.encode(text)
        assert isinstance(found, str), text
        assert "\n" not in found


def test_random_problems_have_the_length_that_was_asked_for() -> None:
    tasks = {name: make_task(name) for name in TASKS}
    body = "return given.map((about) => [2, 6].map((length) => TASKS[about.name].draw(length, about, Math.random)));"
    drawn = in_node(body, [pack_task(task) for task in tasks.values()], TASK_SCRIPTS)
    for task, texts in zip(tasks.values(), drawn, strict=True):
        for length, text in zip((2, 6), texts, strict=True):
            inputs = np.asarray(task.encode(text).inputs)  # it is a problem
            if task.name != "programs":
                assert int(np.sum(inputs != task.end_of_input)) == 1 + task.input_size(length)


def test_every_task_can_be_typed_but_ones_own() -> None:
    assert all(pack_task(make_task(name))["typed"] for name in TASKS)
    assert not pack_task(make_task("bigramFlip[unit=bigrams]"))["typed"]
    assert not pack_task(make_task("examples.every_second:EverySecond"))["typed"]


def test_the_end_of_an_answer_looks_like_no_symbol() -> None:
    for name in TASKS:
        symbols = pack_task(make_task(name))["symbols"]
        assert symbols.count("∎") == 1
        assert len(set(symbols)) == len(symbols)

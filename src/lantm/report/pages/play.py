"""Selects the zoo machines for play.html, the online demo; `viewer.py` builds the page."""

import pathlib
from typing import NamedTuple

from lantm.report.pages.document import json_in_html
from lantm.report.pages.viewer import Machine, exhibit, sampled_problems, usual_lengths, viewer_page
from lantm.tasks import TASKS
from lantm.trained import load, zoo

MOST_BYTES = 2_000_000  # of the page
_FIRST = "copy"  # the task that is shown first


class Play(NamedTuple):
    """The page, and the machines that are in it."""

    page: str
    shown: list[Machine]
    left_out: list[str]
    """Those that are too large to be in it as well."""


def play_page(shelf: pathlib.Path = zoo.SHELF, most: int = MOST_BYTES) -> Play:
    """The page: of every task the machine that its name alone means, then the others as long as there is room."""
    room = most - len(_page([]).encode())
    shown, exhibits, left_out = [], [], []
    for name in _in_order(shelf):
        trained = load(shelf / f"{name}.safetensors")
        task = trained.source
        machine = Machine(name, task, trained.model(), sampled_problems(task, usual_lengths(task)))
        made = exhibit(machine)
        if (size := len(json_in_html(made)) + 1) > room or made["machine"] is None:
            left_out.append(name)
            continue
        room -= size
        shown.append(machine)
        exhibits.append(made)
    return Play(_page(exhibits), shown, left_out)


def _page(exhibits: list[dict[str, object]]) -> str:
    return viewer_page("Machines at work", "trained machines of the zoo, run by your browser", exhibits, [0], 0)


def _in_order(shelf: pathlib.Path) -> list[str]:
    """What tasks' names mean, the first task first, and the others by size."""
    names = zoo.names(shelf)
    usual = [file.stem for task in sorted(TASKS, key=lambda task: task != _FIRST) if (file := zoo.find(task, shelf))]
    return usual + sorted(set(names) - set(usual), key=lambda name: (shelf / f"{name}.safetensors").stat().st_size)

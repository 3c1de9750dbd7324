"""Selects the zoo machines for play.html, the online demo; `viewer.py` builds the page."""

import pathlib
from typing import NamedTuple

from lantm.report.pages.document import json_in_html
from lantm.report.pages.viewer import Machine, exhibit, sampled_problems, usual_lengths, viewer_page
from lantm.tasks import TASKS
from lantm.trained import load, zoo
from lantm.weight_files import SUFFIX

MOST_BYTES = 2_000_000  # maximum size of the page
_FIRST = "copy"  # the task shown first


class Play(NamedTuple):
    """The page, and its machines."""

    page: str
    shown: list[Machine]
    left_out: list[str]
    """The machines that did not fit."""


def play_page(shelf: pathlib.Path = zoo.SHELF, most: int = MOST_BYTES) -> Play:
    """The page with the zoo's default machine of every task, then others while there is room."""
    room = most - len(_page([]).encode())
    shown, exhibits, left_out = [], [], []
    for name in _in_order(shelf):
        trained = load(shelf / f"{name}{SUFFIX}")
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
    """The default machines of all tasks, `_FIRST` first; then the others by size."""
    names = zoo.names(shelf)
    usual = [file.stem for task in sorted(TASKS, key=lambda task: task != _FIRST) if (file := zoo.find(task, shelf))]
    return usual + sorted(set(names) - set(usual), key=lambda name: (shelf / f"{name}{SUFFIX}").stat().st_size)

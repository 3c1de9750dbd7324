"""Selects the zoo machines for play.html, the online demo; `viewer.py` builds the page."""

import pathlib
from typing import NamedTuple

from lantm.report.pages.document import json_in_html
from lantm.report.pages.viewer import Machine, exhibit, sampled_problems, usual_lengths, viewer_page
from lantm.tasks import TASKS
from lantm.trained import load_file, zoo

MOST_BYTES = 2_000_000  # maximum size of the page
_FIRST = "copy"  # the task shown first


class Play(NamedTuple):
    """The page, and its machines."""

    page: str
    shown: list[Machine]
    left_out: list[str]
    """The machines that did not fit."""


def play_page() -> Play:
    """The page with the zoo's default machine of every task, then others while there is room."""
    room = MOST_BYTES - len(_page([]).encode())
    shown, exhibits, left_out = [], [], []
    for file in _in_order():
        trained = load_file(file)
        task = trained.source
        machine = Machine(file.stem, task, trained.model(), sampled_problems(task, usual_lengths(task)))
        made = exhibit(machine)
        if (size := len(json_in_html(made)) + 1) > room or made["machine"] is None:
            left_out.append(file.stem)
            continue
        room -= size
        shown.append(machine)
        exhibits.append(made)
    return Play(_page(exhibits), shown, left_out)


def _page(exhibits: list[dict[str, object]]) -> str:
    return viewer_page("Machines at work", "trained machines of the zoo, run by your browser", exhibits, [0], 0)


def _in_order() -> list[pathlib.Path]:
    """The files of the default machines of all tasks, `_FIRST` first; then the others by size."""
    usual = [file for task in sorted(TASKS, key=lambda task: task != _FIRST) if (file := zoo.find(task))]
    others = {file for name in zoo.names() if (file := zoo.find(name))} - set(usual)
    return usual + sorted(others, key=lambda file: file.stat().st_size)

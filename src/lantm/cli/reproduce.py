"""`lantm reproduce`: a table of the paper, ours beside theirs, cell by cell."""

import dataclasses
import os
import pathlib
import shlex
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import tyro
from rich.console import Console

from lantm.cli.interrupt import interruptible
from lantm.cli.output import print_json, say
from lantm.cli.parse import described, parse, published
from lantm.cli.progress import TrainingDisplay
from lantm.errors import LantmError
from lantm.experiments import RECIPES, STUDIES, Cell, Conduct, Request, Study, from_zoo, reproduce
from lantm.provenance import COMMIT
from lantm.training import Experiment, Progress


@dataclasses.dataclass(frozen=True)
class Arguments:
    """Reproduce a table of the paper: train, score on fresh problems, and print ours beside theirs.

    Each cell leaves a JSON file with its configuration, every test, commit and device. A cell that has one is
    not trained again; one that was interrupted (Ctrl-C, --minutes) goes on from its run folder when the same
    command is given once more.
    """

    study: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="STUDY")]
    """Which table."""
    recipe: str = "paper"
    """How to train: paper (the paper's settings), robust (ours), demo (short)."""
    only: tuple[str, ...] = ()
    """Only these tasks, or other labels of the table's rows: copy power-2."""
    models: tuple[str, ...] = ()
    """Only these models."""
    seeds: int | None = None
    """Seeds a cell; by default as many as the table has: 8, for language 4, of the LSTM on sequences 3."""
    epochs: int | None = None
    """Epochs a cell; by default the recipe's."""
    scales: tuple[int, ...] = ()
    """Multiples of the training lengths to score at, instead of the table's."""
    problems: int = 3200
    """Fresh problems for each figure."""
    data: Annotated[pathlib.Path | None, tyro.conf.arg(metavar="FOLDER")] = None
    """The folder of the text, for language and language-geometries."""
    from_zoo: bool = False
    """Train nothing: score the machines that ship with the package."""
    bare: bool = False
    """Figures alone: no recordings and no report page, which take a minute a cell where there is little to train."""
    quick: bool = False
    """A small version of a few minutes on a CPU, to see it work; its figures are not the paper's."""
    again: bool = False
    """Train anew what has a result already; old results and run folders are moved aside."""
    minutes: float | None = None
    """Stop after so long, having saved; the same command goes on."""
    out: pathlib.Path | None = None
    """Where results go, as STUDY/CELL.json; by default results, or runs/quick with --quick."""
    runs: pathlib.Path = pathlib.Path("runs/reproduce")
    """Where run folders go."""
    commit: str | None = None
    """What results name as their commit where there is no git checkout, as LANTM_COMMIT in the environment."""
    json: bool = False
    """Print the rows as JSON on standard output."""


def main(arguments: list[str]) -> int:
    """Runs the command."""
    chosen = parse(Arguments, "reproduce", arguments, description=_description())
    study, request = _asked(chosen)
    if chosen.commit:
        os.environ[COMMIT] = chosen.commit
    # With --json, standard output belongs to the result.
    console = Console(stderr=chosen.json)
    if chosen.quick:
        say(console, "A quick version: short problems, few epochs, few seeds. Its figures are not the paper's.")
    command = published("reproduce", arguments)
    results = chosen.out or pathlib.Path("runs/quick" if chosen.quick else "results")
    rows, stopped = [], False
    with _conduct(console, chosen.minutes) as conduct:
        found: Iterable[tuple[Cell, dict[str, Any] | None]]
        if chosen.from_zoo:
            found = from_zoo(study, request, conduct)
        else:
            found = reproduce(study, request, results, chosen.runs, conduct, chosen.again, command)
        for cell, result in found:
            if result is None:
                stopped = True
                again = shlex.join(["lantm", "reproduce", *(word for word in arguments if word != "--again")])
                say(console, f"stopped at {cell.name}, and saved; go on with: {again}")
            else:
                rows += result["rows"]
    if chosen.json:
        print_json(rows)
    elif rows:
        how = "machines of the zoo" if chosen.from_zoo else f"recipe {chosen.recipe}"
        how += ", a quick version" if chosen.quick else ""
        Console().print(study.table(rows, f"{study.name}, {how}: ours beside the paper's", study.columns))
    return 130 if stopped else 0


def _description() -> str:
    """What the command is, with a line for every table."""
    return described(Arguments, *(f"{study.name}: {study.summary}." for study in STUDIES.values()))


def _asked(chosen: Arguments) -> tuple[Study, Request]:
    """The study and what is asked of it; what is wrong with either is said before anything is done."""
    if chosen.study not in STUDIES:
        raise LantmError(f"unknown study {chosen.study!r}: known are {', '.join(STUDIES)}")
    if chosen.recipe not in RECIPES:
        raise LantmError(f"unknown recipe {chosen.recipe!r}: known are {', '.join(RECIPES)}")
    if chosen.problems < 1:
        raise LantmError(f"problems is {chosen.problems}: give a whole number from 1 on")
    if chosen.minutes is not None and not chosen.minutes > 0:
        raise LantmError(f"minutes is {chosen.minutes}: give a number above 0")
    request = Request(
        recipe=chosen.recipe,
        only=chosen.only,
        models=chosen.models,
        seeds=chosen.seeds,
        epochs=chosen.epochs,
        scales=chosen.scales,
        problems=min(chosen.problems, 320) if chosen.quick else chosen.problems,
        data=chosen.data,
        bare=chosen.bare,
        quick=chosen.quick,
    )
    study = STUDIES[chosen.study]
    for cell in study.selected(request):
        cell.check()
    return study, request


@contextmanager
def _conduct(console: Console, minutes: float | None) -> Iterator[Conduct]:
    """Work that is shown on the console, and ended by Ctrl-C or when its time is over."""
    ending = None if minutes is None else time.monotonic() + 60 * minutes

    @contextmanager
    def watch(experiment: Experiment) -> Iterator[Callable[[Progress], None]]:
        with TrainingDisplay(console, experiment) as display:
            yield display.update

    with interruptible() as interrupted:
        yield Conduct(
            say=lambda line: say(console, line),
            stop=lambda: interrupted() or (ending is not None and time.monotonic() >= ending),
            watch=watch,
        )

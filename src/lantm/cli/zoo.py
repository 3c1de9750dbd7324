"""`lantm zoo`: lists the trained machines that ship with the package; `lantm zoo add` adds one."""

import dataclasses
import pathlib
from typing import Annotated, Any

import tyro
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from lantm.cli.opening import open_trained
from lantm.cli.output import print_json, working
from lantm.cli.parse import parse
from lantm.cli.printable import printable
from lantm.errors import LantmError
from lantm.evaluation.examiner import check_problems
from lantm.files import check_folder
from lantm.report import plain_table
from lantm.trained import Trained, load_file, promote, usual_name, zoo
from lantm.weight_files import SUFFIX

HARD = " hard"  # ends the labels of scores on hard problems


@dataclasses.dataclass(frozen=True)
class Arguments:
    """List the trained machines that ship with the package, with their scores on fresh problems.

    lantm solve, eval, info, trace and view take these names in the place of a run folder; a task's name alone
    stands for its InvNorm machine, where there is one. They take files of machines as well. `lantm zoo add RUN` puts
    the best machine of a run here, `lantm zoo add RUN --shelf FOLDER` into a file to pass on.
    """

    shelf: pathlib.Path | None = None
    """Another folder of machines; by default the package's own."""
    trust: bool = False
    """Import the modules that its machines name as module:Name, which runs their code (docs/security.md)."""
    json: bool = False
    """Print JSON on standard output: what each machine's file says of it."""


@dataclasses.dataclass(frozen=True)
class AddArguments:
    """Put the best machine of a run, or that of a file, into the zoo, in the place of the one that has its name.

    The seed is chosen on some fresh problems and scored on others; the file says what it was trained by, and
    where.
    """

    run: Annotated[tyro.conf.Positional[pathlib.Path], tyro.conf.arg(metavar="RUN")]
    """The run folder, or the file of a machine."""
    seed: int | None = None
    """Which seed's machine; by default the one with the best mean score, by the recipe's `select_by`."""
    name: str | None = None
    """What to call it; by default TASK-MODEL."""
    scales: tuple[int, ...] = ()
    """Multiples of the training lengths to choose and score at; the task's usual ones (1 2 4) unless given."""
    problems: int = 3200
    """Fresh problems for each figure."""
    hard: bool = False
    """Choose and score on hard problems too."""
    data: Annotated[pathlib.Path | None, tyro.conf.arg(metavar="FOLDER")] = None
    """The folder of the text, if it is no longer where it was."""
    trust: bool = False
    """Import the modules that RUN names as module:Name, which runs their code (docs/security.md)."""
    shelf: pathlib.Path | None = None
    """The folder of machines; by default the package's own."""


def main(arguments: list[str]) -> int:
    """Runs the command."""
    if arguments[:1] == ["add"]:
        return _add(parse(AddArguments, "zoo add", arguments[1:]))
    chosen = parse(Arguments, "zoo", arguments)
    shelf = chosen.shelf or zoo.SHELF
    if not shelf.is_dir():
        raise LantmError(f"there is no folder {shelf}: lantm zoo add RUN --shelf {shelf} makes it")
    machines = [load_file(shelf / f"{name}{SUFFIX}", trust=chosen.trust) for name in zoo.names(shelf)]
    if chosen.json:
        print_json([{"name": machine.name, **machine.notes} for machine in machines])
    else:
        Console().print(_table(machines))
    return 0


def _add(chosen: AddArguments) -> int:
    check_problems(chosen.problems)
    if chosen.shelf:
        check_folder(chosen.shelf)  # before anything is scored
    run, shelf = open_trained(chosen.run, chosen.data, chosen.trust), chosen.shelf or zoo.SHELF
    name = chosen.name or usual_name(run.experiment)
    before = shelf / f"{name}{SUFFIX}"
    shown = [("before", load_file(before, trust=chosen.trust))] if before.exists() else []
    with working("choosing and scoring"):
        added = promote(run, chosen.seed, name, chosen.scales, chosen.problems, shelf, chosen.hard)
    for what, machine in [*shown, ("added", added)]:
        scores = ", ".join(f"{row['scale']} {_figures(row)}" for row in machine.notes["scores"])
        print(f"{what}: {machine.name}, seed {machine.experiment.first_seed}: {scores}")
    return 0


def _figures(row: dict[str, Any]) -> str:
    return f"{row['perplexity']:.1f}" if "perplexity" in row else f"{row['coarse']:.1f}/{row['fine']:.1f}"


def _table(machines: list[Trained]) -> Table:
    """Hard problems have a line of their own: all scores of a machine in one line are wider than a terminal."""
    labels = dict.fromkeys(row["scale"] for machine in machines for row in machine.notes.get("scores", []))
    scales = list(dict.fromkeys(label.removesuffix(HARD) for label in labels))
    table = plain_table("machines of the zoo: coarse/fine in percent, on fresh problems; of texts, perplexities")
    table.add_column("name", overflow="fold")
    for name in ("recipe", *scales):
        table.add_column(name, no_wrap=True)
    for machine in machines:
        figures = {row["scale"]: _figures(row) for row in machine.notes.get("scores", [])}
        names = (escape(printable(machine.name)), escape(printable(machine.experiment.recipe_name)))
        table.add_row(*names, *(figures.get(scale, "") for scale in scales))
        if any(label.endswith(HARD) for label in figures):
            table.add_row("  hard problems", "", *(figures.get(f"{scale}{HARD}", "") for scale in scales))
    return table

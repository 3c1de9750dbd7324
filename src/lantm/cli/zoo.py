"""`lantm zoo`: lists the trained machines that ship with the package; `lantm zoo add` adds one."""

import dataclasses
import pathlib
from typing import Annotated, Any

import tyro
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from lantm.cli.opening import open_trained
from lantm.cli.output import print_json, show, working
from lantm.cli.parse import parse
from lantm.cli.printable import printable
from lantm.errors import LantmError
from lantm.evaluation.examiner import check_problems
from lantm.files import check_folder
from lantm.report import plain_table
from lantm.trained import Trained, load_file, promote, usual_name, zoo
from lantm.training import seed_and_start
from lantm.weight_files import SUFFIX

HARD = " hard"  # suffix of labels for scores on hard problems


@dataclasses.dataclass(frozen=True)
class Arguments:
    """List the trained machines that ship with the package, with their scores on fresh problems.

    lantm solve, eval, info, trace and view accept these names instead of a run folder; a task's name stands for its
    InvNorm machine, if there is one. They accept machine files as well. `lantm zoo add RUN` adds the best machine of a
    run, and `lantm zoo add RUN --shelf FOLDER` writes it to a file in another folder.
    """

    shelf: pathlib.Path | None = None
    """Another folder of machines; by default the package's own."""
    trust: bool = False
    """Import the modules that its machines name as module:Name, which runs their code (docs/security.md)."""
    json: bool = False
    """Print JSON on standard output: the notes of each machine's file."""


@dataclasses.dataclass(frozen=True)
class AddArguments:
    """Add the best machine of a run, or the machine of a file, to the zoo; replaces a machine of the same name.

    The seed is selected on one set of fresh problems and scored on another. The file records the experiment and the
    provenance of the training.
    """

    run: Annotated[tyro.conf.Positional[pathlib.Path], tyro.conf.arg(metavar="RUN")]
    """A run folder or a machine file."""
    seed: int | None = None
    """The seed to add; by default the one with the best mean score, by the recipe's `select_by`."""
    name: str | None = None
    """Name of the machine; by default TASK-MODEL."""
    scales: tuple[int, ...] = ()
    """Scales to select and score at, as multiples of the training lengths; by default the task's usual ones (1 2 4)."""
    problems: int = 3200
    """Fresh problems per score."""
    hard: bool = False
    """Select and score on hard problems too."""
    data: Annotated[pathlib.Path | None, tyro.conf.arg(metavar="FOLDER")] = None
    """The folder of the text, if it has moved."""
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
        raise LantmError(f"there is no folder {shelf}: lantm zoo add RUN --shelf {shelf} creates it")
    machines = [load_file(shelf / f"{name}{SUFFIX}", trust=chosen.trust) for name in zoo.names(shelf)]
    if chosen.json:
        print_json([{"name": machine.name, **machine.notes} for machine in machines])
    else:
        show(Console(), _table(machines))
    return 0


def _add(chosen: AddArguments) -> int:
    check_problems(chosen.problems)
    if chosen.shelf:
        check_folder(chosen.shelf)  # before scoring
    run, shelf = open_trained(chosen.run, chosen.data, chosen.trust), chosen.shelf or zoo.SHELF
    name = chosen.name or usual_name(run.experiment)
    before = shelf / f"{name}{SUFFIX}"
    shown = [("before", load_file(before, trust=chosen.trust))] if before.exists() else []
    with working("choosing and scoring"):
        added = promote(run, chosen.seed, name, chosen.scales, chosen.problems, shelf, chosen.hard)
    for what, machine in [*shown, ("added", added)]:
        scores = ", ".join(f"{row['scale']} {_figures(row)}" for row in machine.notes.get("scores", [])) or "no scores"
        print(printable(f"{what}: {machine.name}, {seed_and_start(machine.experiment.first_seed)}: {scores}"))
    return 0


def _figures(row: dict[str, Any]) -> str:
    if "perplexity" not in row:
        return f"{row['coarse']:.1f}/{row['fine']:.1f}"
    return "-" if row["perplexity"] is None else f"{row['perplexity']:.1f}"


def _table(machines: list[Trained]) -> Table:
    """The table; scores on hard problems have a separate line, since all scores in one would be too wide."""
    labels = dict.fromkeys(row["scale"] for machine in machines for row in machine.notes.get("scores", []))
    scales = list(dict.fromkeys(label.removesuffix(HARD) for label in labels))
    table = plain_table(
        "machines of the zoo, on fresh problems",
        "coarse/fine: percent of whole answers and of single symbols right; of texts, perplexities",
    )
    table.add_column("name", overflow="fold", min_width=10)
    for name in ("recipe", *scales):
        table.add_column(escape(printable(name)), no_wrap=True)
    for machine in machines:
        figures = {row["scale"]: _figures(row) for row in machine.notes.get("scores", [])}
        names = (escape(printable(machine.name)), escape(printable(machine.experiment.recipe_name)))
        table.add_row(*names, *(figures.get(scale, "") for scale in scales))
        if any(label.endswith(HARD) for label in figures):
            table.add_row("  hard problems", "", *(figures.get(f"{scale}{HARD}", "") for scale in scales))
    return table

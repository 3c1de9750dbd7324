"""`lantm verify`: counts exact answers at one length on random and hard problems, and prints the counts."""

import dataclasses
import pathlib
from typing import Annotated, Any

import tyro
from rich.console import Console
from rich.padding import Padding
from rich.progress import TextColumn
from rich.table import Table
from rich.text import Text

from lantm.cli.opening import open_trained
from lantm.cli.output import Display, print_json, say, show
from lantm.cli.parse import parse, published
from lantm.cli.solve import worked
from lantm.evaluation import Mistake, Part, Tally, Verification
from lantm.evaluation.answer import LONG
from lantm.evaluation.examiner import check_draw
from lantm.files import destination, write_json
from lantm.provenance import provenance
from lantm.report import first_mistake, plain_table
from lantm.report.diagnosis import diagnose
from lantm.tasks import Task
from lantm.trained import Trained, Which

# In JSON:
_AROUND = 10  # symbols shown on both sides of a mistake
_COLUMNS = 80  # width of a worked problem


@dataclasses.dataclass(frozen=True)
class Arguments:
    """Count the problems of one length that a machine answers exactly: every symbol right, including the end.

    The problems are random ones and hard ones: carry chains, nines, zeros, repeated symbols, palindromes and further
    kinds defined by the task, in turn; --problems of each. The interval is Wilson's 95% interval of the error rate: 100
    right answers of 100 leave up to 3.7%.

    Problems are drawn and run in batches, so any number of them fits in memory. They depend only on the length and on
    --draw. Ctrl-C prints the counts so far. The exit status is 0 if all answers are right, and 1 otherwise; then the
    first mistake is explained.
    """

    machine: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="MACHINE")]
    """A run folder, a machine file, or a machine of the zoo (a task's name or a name from `lantm zoo`)."""
    length: int
    """Length of all problems: symbols, or digits of each number."""
    problems: int = 100
    """Number of random problems, and of hard ones."""
    random: bool = False
    """Only random problems."""
    hard: bool = False
    """Only hard problems."""
    draw: int = 1
    """Random draw of the problems; each number gives different ones."""
    seed: int | None = None
    """Seed of the machine to use; by default the one with the best test."""
    weights: Which = "best"
    """Use the weights with the best periodic test, or the last ones."""
    trust: bool = False
    """Import the modules that MACHINE names as module:Name, which runs their code (docs/security.md)."""
    save: pathlib.Path | None = None
    """Write a JSON file with the result, the experiment, and the provenance of training and result."""
    json: bool = False
    """Print JSON on standard output: one object."""


def main(arguments: list[str]) -> int:
    """Runs the command."""
    chosen = parse(Arguments, "verify", arguments)
    check_draw(chosen.draw)
    if chosen.save:
        destination(chosen.save)  # report its errors first
    machines = open_trained(chosen.machine, trust=chosen.trust)
    both = chosen.random == chosen.hard
    with VerifyingDisplay(Console(stderr=True), chosen.problems) as display:
        found = machines.verify(
            chosen.length,
            chosen.problems,
            random=both or chosen.random,
            hard=both or chosen.hard,
            draw=chosen.draw,
            seed=chosen.seed,
            which=chosen.weights,
            watch=display.update,
        )
    index = machines.index(chosen.seed)
    result = _as_json(machines, int(machines.start_seeds[index]), found)
    if chosen.save:
        origin = {
            "command": published("verify", arguments, run=chosen.machine),
            "experiment": machines.experiment.published(),
            "epoch": machines.epoch,
            "weights": chosen.weights,
            "trained": machines.trained,
            "scored": provenance(),
        }
        write_json(chosen.save, result | origin)
    if chosen.json:
        print_json(result)
    else:
        _show(machines, chosen, found)
    return 1 if not found.right else 0 if found.complete else 130


class VerifyingDisplay(Display):
    """A progress bar of the random problems, then of the hard ones."""

    def __init__(self, console: Console, problems: int):
        """`problems` is the number of each kind."""
        super().__init__(console, TextColumn("{task.fields[part]}"), total=problems, part="")

    def update(self, name: str, part: Part) -> None:
        """Shows the counts of a part."""
        total = part.total
        self._progress.update(
            self._bar,
            completed=total.problems,
            part=name,
            status=f"{total.right:,} of {total.problems:,} right, {part.steps_per_second:,.0f} steps/s",
        )


def _show(machines: Trained, chosen: Arguments, found: Verification) -> None:
    console = Console()
    show(console, _table(f"{machines.name} on {machines.source.name}, length {found.length:,}", found))
    total = found.total
    if not found.complete:
        say(console, f"interrupted after {total.problems:,} problems", "yellow")
    if found.first_mistake is None:
        if total.problems:  # else interrupted before the first answer
            say(console, f"all {total.problems:,} answers are right", "green")
        return
    say(console, f"{total.problems - total.right:,} of {total.problems:,} answers are wrong", "red")
    mistake = found.first_mistake
    assert isinstance(machines.source, Task)
    say(console, f"the first of them is problem {mistake.number + 1:,}, {mistake.kind}")
    say(console, worked(machines, mistake, console.width))
    say(console, first_mistake(machines.source, mistake.targets, mistake.symbols))
    # A trace keeps every step and needs compilation: skipped for long problems and after an interruption.
    if found.complete and len(mistake.inputs) + len(mistake.targets) < LONG:
        recording = machines.trace(mistake.problem, chosen.seed, chosen.weights, read_weights=True)
        for sentence in diagnose(recording, machines.source, machines.geometry)[1:]:
            console.print(Padding(Text(sentence), (0, 0, 0, 2)))


def _table(title: str, found: Verification) -> Table:
    table = plain_table(title, "errors: Wilson's 95% interval of the error rate; steps of all problems together")
    table.add_column("problems", no_wrap=True)
    for name in ("right", "of", "errors", "seconds", "steps/s"):
        table.add_column(name, justify="right", no_wrap=True)
    for name, part in found.parts.items():
        table.add_row(name, *_cells(part.total), f"{part.seconds:,.1f}", f"{part.steps_per_second:,.0f}")
        if name == "hard":
            for kind, tally in part.kinds.items():
                table.add_row(f"  {kind}", *_cells(tally), "", "")
    return table


def _cells(tally: Tally) -> tuple[str, str, str]:
    low, high = tally.error_rate
    return f"{tally.right:,}", f"{tally.problems:,}", f"{100 * low:.2f}-{100 * high:.2f}%" if tally.problems else "-"


def _as_json(machines: Trained, seed: int, found: Verification) -> dict[str, Any]:
    """The result as a JSON object."""
    parts = {
        name: _tally(part.total)
        | {"seconds": round(part.seconds, 3), "steps": part.steps, "steps_per_second": round(part.steps_per_second)}
        for name, part in found.parts.items()
    }
    if found.hard is not None:
        parts["hard"]["kinds"] = {kind: _tally(tally) for kind, tally in found.hard.kinds.items()}
    return {
        "task": machines.experiment.task,
        "model": machines.experiment.model,
        "seed": seed,
        "length": found.length,
        "draw": found.draw,
        "complete": found.complete,
        **_tally(found.total),
        **parts,
        "first_mistake": None if found.first_mistake is None else _mistake(machines, found.first_mistake),
    }


def _tally(tally: Tally) -> dict[str, Any]:
    return {
        "right": tally.right,
        "problems": tally.problems,
        "error_rate": [round(bound, 6) for bound in tally.error_rate],
    }


def _mistake(machines: Trained, mistake: Mistake) -> dict[str, Any]:
    first = max(0, mistake.position - _AROUND)
    around = slice(first, mistake.position + _AROUND + 1)
    expected, given = (
        "".join(machines.source.symbol_name(symbol) for symbol in symbols[around])
        for symbols in (mistake.targets, mistake.symbols)
    )
    return {
        "kind": mistake.kind,
        "problem": mistake.number + 1,
        "symbol": mistake.position + 1,
        "symbols": len(mistake.targets),
        "only_the_end": mistake.only_the_end,
        "around_from_symbol": first + 1,
        "expected_around": expected,
        "given_around": given,
        "worked": worked(machines, mistake, _COLUMNS).splitlines(),
    }

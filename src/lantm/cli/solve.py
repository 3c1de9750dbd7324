"""`lantm solve`: a trained machine answers a problem given on the command line."""

import dataclasses
import pathlib
import sys
from typing import Annotated

import tyro
from rich.console import Console

from lantm.cli.heartbeat import doing
from lantm.cli.opening import open_trained
from lantm.cli.output import print_json, say, working
from lantm.cli.parse import parse
from lantm.errors import LantmError
from lantm.evaluation import Mistake
from lantm.report import first_mistake, shorten, worked_problem
from lantm.tasks import Task
from lantm.trained import Solution, Trained

_MOST = 10_000_000  # characters of standard input: enough for a million symbols of any task


@dataclasses.dataclass(frozen=True)
class Arguments:
    """Let a trained machine answer a problem, and check the answer.

    These tasks have machines in the zoo. Their problems are a text for copy, reverse and bigramFlip ("hello"), a number
    for double ("829"), a sum for addition ("423 + 94"), a program for programs ("print((5*123))", which is parsed with
    the task's grammar and never executed).

    Of the other tasks, train a machine first (lantm train oddFirst --out RUN). Their problems are a text for oddFirst
    ("abcdef"), a count and a text for repeatCopy ("3:hello"), and priorities and values for prioritySort ("2:c 0:a
    1:b").

    The answer is shown in the paper's layout: `∎` is the end symbol, `*` marks wrong symbols, and numbers have their
    most significant digit first. A machine trained on a text predicts the word after each given word.

    Problems may have up to a million digits or symbols. Of a long problem, the two ends and the surroundings of the
    first mistake are shown; --full shows all of it.
    """

    run: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="RUN")]
    """A run folder, a machine file, or a machine of the zoo (a task's name or a name from `lantm zoo`)."""
    problem: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="PROBLEM")]
    """The problem; - reads it from standard input (lantm solve addition - < sum.txt)."""
    seed: int | None = None
    """Seed of the machine to use; by default the one with the best test."""
    data: Annotated[pathlib.Path | None, tyro.conf.arg(metavar="FOLDER")] = None
    """The folder of the text, if it has moved."""
    trust: bool = False
    """Import the modules that RUN names as module:Name, which runs their code (docs/security.md)."""
    full: bool = False
    """Show long problems in full."""
    json: bool = False
    """Print JSON on standard output."""


def main(arguments: list[str]) -> int:
    """Runs the command."""
    chosen = parse(Arguments, "solve", arguments)
    machines = open_trained(chosen.run, chosen.data, chosen.trust)
    index = machines.index(chosen.seed)
    problem = _given() if chosen.problem == "-" else chosen.problem
    with working("answering"):
        solution = machines.solve(problem, chosen.seed)
    if chosen.json:
        result = {
            "task": solution.task,
            "problem": solution.problem,
            "answer": solution.answer,
            "expected": solution.expected,
            "right": solution.right,
            "symbols_right": solution.symbols_right,
            "symbols": len(solution.targets),
            "seed": int(machines.start_seeds[index]),
        }
        print_json(result)
        return 0
    console, source = Console(), machines.source
    if not isinstance(source, Task):
        guesses = [source.symbol_name(symbol) for symbol in solution.symbols]
        for read, guess in zip(solution.inputs, guesses, strict=True):
            say(console, f"after {source.symbol_name(read)}: {guess}")
        return 0
    width = None if chosen.full else console.width
    say(console, worked(machines, solution, width))
    if solution.right:
        answer = f"right: {solution.answer}"
        say(console, answer if width is None else shorten(answer, width), "green")
        return 0
    say(console, f"wrong: {solution.symbols_right:,} of {len(solution.targets):,} symbols are right", "red")
    say(console, first_mistake(source, solution.targets, solution.symbols))
    return 0


def _given() -> str:
    """The problem from standard input."""
    if sys.stdin is None:
        raise LantmError("standard input is closed: give the problem as an argument")
    try:
        with doing("" if sys.stdin.isatty() else "reading standard input"):
            text = sys.stdin.read(_MOST + 1)
    except UnicodeDecodeError as error:
        raise LantmError(f"standard input is not text: {error.reason}") from error
    if len(text) > _MOST:  # it may be infinite
        raise LantmError(f"standard input has more than {_MOST:,} characters: give a shorter problem")
    return text.rstrip("\r\n")


def worked(machines: Trained, answered: Solution | Mistake, width: int | None) -> str:
    """The worked problem, in lines that fit the width."""
    assert isinstance(machines.source, Task)
    model = machines.experiment.model
    by = "LANTM" if model.startswith("lantm") else model if model == "transformer" else model.upper()
    return worked_problem(machines.source, answered.inputs, answered.targets, answered.symbols, by, width)

"""`lantm solve`: let a trained machine answer a problem of yours."""

import dataclasses
import pathlib
from typing import Annotated

import tyro
from rich.console import Console

from lantm.cli.opening import open_trained
from lantm.cli.output import print_json, say
from lantm.cli.parse import parse
from lantm.report import worked_problem
from lantm.tasks import Task


@dataclasses.dataclass(frozen=True)
class Arguments:
    """Let a trained machine answer a problem, and check the answer.

    Text for copy, reverse and bigramFlip ("hello"), a number for double ("829"), a sum for addition
    ("423 + 94"), a program for programs ("print((14*5608))", which is compared with the grammar and never
    executed). The answer is shown as the paper shows worked problems: `$` is the end symbol, `*` stands under
    what is wrong, and numbers have their most significant digit first. A machine that was trained on a text is given
    words, and guesses the next one.
    """

    run: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="RUN")]
    """The run folder, or a machine of the zoo: a task's name, one that `lantm zoo` lists, or a file."""
    problem: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="PROBLEM")]
    """The problem, as a person writes it."""
    seed: int | None = None
    """Which seed's machine answers; by default the one with the best test."""
    data: Annotated[pathlib.Path | None, tyro.conf.arg(metavar="FOLDER")] = None
    """The folder of the text, if it is no longer where it was."""
    json: bool = False
    """Print JSON on standard output."""


def main(arguments: list[str]) -> int:
    """Runs the command."""
    chosen = parse(Arguments, "solve", arguments)
    machines = open_trained(chosen.run, chosen.data)
    index = machines.best_index if chosen.seed is None else machines.experiment.seed_index(chosen.seed)
    solution = machines.solve(chosen.problem, chosen.seed)
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
    by = "LSTM" if machines.experiment.model == "lstm" else "LANTM"
    say(console, worked_problem(source, solution.inputs, solution.targets, solution.symbols, by))
    if solution.right:
        say(console, f"right: {solution.answer}", "green")
    else:
        say(console, f"wrong: {solution.symbols_right} of {len(solution.targets)} symbols are right", "red")
    return 0

"""`lantm solve`: let a trained machine answer a problem of yours."""

import dataclasses
from typing import Annotated

import jax
import numpy as np
import tyro
from rich.console import Console

from lantm.cli.machines import open_machines
from lantm.cli.output import print_json, say
from lantm.cli.parse import parse
from lantm.evaluation import answer
from lantm.report import worked_problem


@dataclasses.dataclass(frozen=True)
class Arguments:
    """Let a trained machine answer a problem, and say whether it is right.

    Text for copy, reverse and bigramFlip ("hello"), a number for double ("829"), a sum for addition
    ("423 + 94"), a program for programs ("print((14*5608))", which is compared with the grammar and never
    executed). The answer is shown as the paper shows worked problems: `$` is the end symbol, `*` stands under
    what is wrong, and numbers have their most significant digit first.
    """

    run: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="RUN")]
    """The run folder, or a machine of the zoo: a task's name, one that `lantm zoo` lists, or a file."""
    problem: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="PROBLEM")]
    """The problem, as a person writes it."""
    seed: int | None = None
    """Which seed's machine answers; by default the one with the best test."""
    json: bool = False
    """Print JSON on standard output."""


def main(arguments: list[str]) -> int:
    """Runs the command."""
    chosen = parse(Arguments, "solve", arguments)
    machines = open_machines(chosen.run)
    task = machines.task
    seed, model = machines.machine(chosen.seed)
    batch = task.encode(chosen.problem)
    # It runs once: code that is quick to make is better than code that is quick.
    given = jax.device_get(jax.jit(answer, compiler_options={"xla_backend_optimization_level": 0})(model, batch))
    expected = given.mask[:, 0]
    symbols = np.argmax(given.logits[:, 0], axis=-1)[expected].tolist()
    targets = given.targets[:, 0][expected].tolist()
    symbols_right = sum(one == other for one, other in zip(symbols, targets, strict=True))
    right = symbols == targets
    result = {
        "task": task.name,
        "problem": chosen.problem,
        "answer": task.decode_answer(symbols),
        "expected": task.expected(chosen.problem),
        "right": right,
        "symbols_right": symbols_right,
        "symbols": len(targets),
        "seed": seed,
    }
    if chosen.json:
        print_json(result)
        return 0
    console = Console()
    inputs = np.asarray(batch.inputs)[1 : int(batch.writes[0]), 0].tolist()
    by = "LSTM" if machines.experiment.model == "lstm" else "LANTM"
    say(console, worked_problem(task, inputs, targets, symbols, by))
    if right:
        say(console, f"right: {result['answer']}", "green")
    else:
        say(console, f"wrong: {result['symbols_right']} of {result['symbols']} symbols are right", "red")
    return 0

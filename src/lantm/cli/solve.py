"""`lantm solve`: let a trained machine answer a problem of yours."""

import dataclasses
import json
import pathlib
import sys
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
import tyro
from rich.console import Console

from lantm.cli.parse import parse
from lantm.errors import LantmError
from lantm.evaluation import answer, mark
from lantm.training import RunFolder, load_learners


@dataclasses.dataclass(frozen=True)
class Arguments:
    """Let a trained machine answer a problem, and say whether it is right.

    Text for copy, reverse and bigramFlip ("hello"), a number for double ("829"), a sum for addition
    ("423 + 94").
    """

    run: Annotated[tyro.conf.Positional[pathlib.Path], tyro.conf.arg(metavar="RUN")]
    """The run folder."""
    problem: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="PROBLEM")]
    """The problem, as a person writes it."""
    seed: int | None = None
    """Which seed's machine answers; by default the one with the best test."""
    json: bool = False
    """Print JSON on standard output."""


def main(arguments: list[str]) -> int:
    """Runs the command."""
    chosen = parse(Arguments, "solve", arguments)
    experiment, task, _, learners, warnings = load_learners(RunFolder.open(chosen.run))
    for warning in warnings:
        print(f"lantm: warning: {warning}", file=sys.stderr)
    if chosen.seed is None:
        index = int(np.argmax(learners.best_score))
    else:
        index = chosen.seed - experiment.first_seed
        if not 0 <= index < experiment.seeds:
            last = experiment.first_seed + experiment.seeds - 1
            raise LantmError(f"{chosen.run} has no seed {chosen.seed}: it has {experiment.first_seed} to {last}")
    batch = task.encode(chosen.problem)
    model = jax.tree.map(lambda weights: weights[index], learners.best_model)
    given = jax.jit(answer)(model, batch)
    predicted = jnp.argmax(given.logits, axis=-1)
    marks = mark(predicted, given.targets, given.mask)
    right = bool(marks.right[0] == marks.size[0])
    symbols = predicted[:, 0][given.mask[:, 0]].tolist()
    result = {
        "task": task.name,
        "problem": chosen.problem,
        "answer": task.decode_answer(symbols),
        "expected": task.expected(chosen.problem),
        "right": right,
        "symbols_right": int(marks.right[0]),
        "symbols": int(marks.size[0]),
        "seed": experiment.first_seed + index,
    }
    if chosen.json:
        json.dump(result, sys.stdout, indent=2)
        print()
        return 0
    console = Console()
    console.print(f"answer    {result['answer']}", highlight=False, markup=False, soft_wrap=True)
    if right:
        console.print("          right", style="green")
    else:
        console.print(f"expected  {result['expected']}", highlight=False, markup=False, soft_wrap=True)
        console.print(f"          {result['symbols_right']} of {result['symbols']} symbols are right", style="red")
    return 0

"""`lantm demo`: trains a machine on copy and shows it at work, in a few minutes on a laptop."""

import dataclasses
import pathlib

from lantm.cli import eval as eval_command
from lantm.cli import solve, train
from lantm.cli.output import program
from lantm.cli.parse import parse
from lantm.files import free_path
from lantm.paper import preset

_INTRODUCTION = """A Lie access machine learns to copy: it reads up to 64 symbols and then has to repeat them.
Its memory is a plane. One head writes along a line, and another learns to go back and read along it.
"""
_CONCLUSION = """
1x are the training lengths; 2x and 4x are longer than any problem in training.
Everything is in {run}. Try next:
  {lantm} view {run} --open
  {lantm} solve {run} "your own text"
  {lantm} eval {run} --lengths 100 200 400
  {lantm} train --resume {run} --epochs 600
  {lantm} train reverse --recipe robust --seeds 1 --epochs 300
"""


@dataclasses.dataclass(frozen=True)
class Arguments:
    """Train a machine to copy, see how well it generalises to longer problems, and let it answer one."""

    out: pathlib.Path = pathlib.Path("runs/demo")
    """The run folder to create; a number is appended if it exists."""
    seeds: int = 4
    """Number of machines to train in parallel."""


def main(arguments: list[str]) -> int:
    """Runs the command."""
    chosen = parse(Arguments, "demo", arguments)
    # Errors in the flags are reported first.
    dataclasses.replace(preset("copy", "lantm-invnorm", "demo"), seeds=chosen.seeds)
    print(_INTRODUCTION)
    run = str(free_path(chosen.out))
    status = train.main(["copy", "--recipe", "demo", "--seeds", str(chosen.seeds), "--out", run])
    if status:
        return status
    text = "Heads move by Lie group actions."
    print(f'\n{program()} solve {run} "{text}"')
    solve.main([run, text])
    print()
    eval_command.main([run, "--scales", "1", "2", "4", "--problems", "640"])
    print(_CONCLUSION.format(run=run, lantm=program()))
    return 0

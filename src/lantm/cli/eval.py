"""`lantm eval`: scores trained machines at given lengths, or computes their perplexity on a text."""

import dataclasses
import pathlib
from typing import Annotated

import tyro
from rich.console import Console

from lantm.cli.opening import open_trained
from lantm.cli.output import print_json, working
from lantm.cli.parse import parse, published
from lantm.errors import LantmError
from lantm.files import destination, write_json
from lantm.provenance import provenance
from lantm.report import score_table
from lantm.tasks import Source, Task, Text
from lantm.trained import Which, lengths_or_parts
from lantm.training import Experiment, score_rows


@dataclasses.dataclass(frozen=True)
class Arguments:
    """Score every seed of a run at any lengths, on fresh problems; for a text, the perplexity of every seed.

    Lengths and scales are compiled once, together. 1x are the lengths trained on, 2x the range above them up
    to twice the longest, and from 3x on exactly that multiple of the longest. Where inputs are long, machines read
    through an index, which bounds its own error.

    A text is read in columns side by side, each from the initial state; state and memory are carried along a column.
    --batch-size 1 reads it from beginning to end in one column.
    """

    run: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="RUN")]
    """The run folder, or a machine of the zoo: its name, its task's, or a file."""
    task: str | None = None
    """Score on another task of the same symbols: programs[kinds=loop], reverse for a machine that copies."""
    data: Annotated[pathlib.Path | None, tyro.conf.arg(metavar="FOLDER")] = None
    """The folder of the text, if it has moved."""
    lengths: tuple[int, ...] = ()
    """Exact lengths to score at."""
    scales: tuple[int, ...] = ()
    """Multiples of the training lengths to score at; the task's usual ones (1 2 4) when neither are given."""
    hard: bool = False
    """Score hard problems too, such as long carries and repeated symbols; --json has the scores of each kind."""
    problems: int = 3200
    """Problems at each, rounded up to whole batches."""
    batch_size: int | None = None
    """Problems per batch, all of one length (32); columns of a text (as in training)."""
    weights: Which = "best"
    """The weights with the best periodic test, or the last ones."""
    draw: int = 1
    """Which fresh problems: another number draws others."""
    trust: bool = False
    """Import the modules that RUN names as module:Name, which runs their code (docs/security.md)."""
    save: pathlib.Path | None = None
    """Write a JSON file with the rows, the experiment, and where both training and scores come from."""
    json: bool = False
    """Print JSON on standard output: a row for each length or scale."""


def main(arguments: list[str]) -> int:
    """Runs the command."""
    chosen = parse(Arguments, "eval", arguments)
    for name, value in (("problems", chosen.problems), ("batch-size", chosen.batch_size)):
        if value is not None and value < 1:
            raise LantmError(f"{name} is {value}: give a whole number from 1 on")
    if not 0 <= chosen.draw < 2**31:
        raise LantmError(f"draw is {chosen.draw}: give a whole number from 0 to {2**31 - 1}")
    if chosen.save:
        destination(chosen.save)  # its errors are reported first
    machines = open_trained(chosen.run, chosen.data, chosen.trust)
    experiment, source = machines.experiment, machines.source
    if chosen.task is not None:
        experiment = dataclasses.replace(experiment, task=chosen.task, text=None)
        source = _other_task(source, experiment)
    tests = lengths_or_parts(source, chosen.scales, chosen.lengths, chosen.hard)
    with working(f"scoring at {', '.join(tests)}"):
        at, drawn = (chosen.scales, chosen.lengths), (chosen.problems, chosen.batch_size)
        scores = machines.scores(*at, *drawn, chosen.weights, chosen.draw, source, chosen.hard)
    rows = score_rows(experiment, scores)
    if chosen.save:
        record = {
            "command": published("eval", arguments),
            "rows": rows,
            "experiment": machines.experiment.published(),
            "epoch": machines.epoch,
            "weights": chosen.weights,
            "trained": machines.trained,
            "scored": provenance(),
        }
        if isinstance(source, Text):
            record["text"] = source.corpus.facts()
        write_json(chosen.save, record)
    if chosen.json:
        print_json(rows)
    else:
        Console().print(score_table(rows, f"{chosen.weights} weights of every seed"))
    return 0


def _other_task(source: Source, experiment: Experiment) -> Task:
    """The experiment's task, if it has the symbols that the machines were trained on."""
    other = experiment.build_task()
    if not isinstance(source, Task) or _symbols(other) != _symbols(source):
        raise LantmError(
            f"{experiment.task} has other symbols than {source.name}, which this machine was trained on: "
            "give a task that shares them"
        )
    return other


def _symbols(task: Task) -> tuple[str, int, int]:
    return task.alphabet, task.data_symbols, task.vocabulary

"""`lantm eval`: scores trained machines at given lengths, or computes their perplexity on a text."""

import dataclasses
import pathlib
from typing import Annotated

import tyro
from rich.console import Console

from lantm.cli.opening import open_trained
from lantm.cli.output import print_json, show, working
from lantm.cli.parse import parse, published
from lantm.errors import LantmError
from lantm.evaluation.examiner import check_draw
from lantm.files import destination, write_json
from lantm.provenance import provenance
from lantm.report import score_table
from lantm.tasks import Source, Task, Text
from lantm.trained import Which, lengths_or_parts
from lantm.training import Experiment, score_rows


@dataclasses.dataclass(frozen=True)
class Arguments:
    """Score every seed of a run on fresh problems of any length; for a text, compute the perplexity of every seed.

    1x means the training lengths, 2x the range above them up to twice the longest, and larger scales exactly that
    multiple of the longest. On long inputs, machines read through an index with a bounded error.

    A text is read in parallel columns, each from the initial state; state and memory are carried along a column.
    --batch-size 1 reads it in one column from beginning to end.
    """

    run: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="RUN")]
    """A run folder, a machine file, or a machine of the zoo (a task's name or a name from `lantm zoo`)."""
    task: str | None = None
    """Score on another task with the same symbols, such as programs[kinds=loop], or reverse for a machine that
    copies."""
    data: Annotated[pathlib.Path | None, tyro.conf.arg(metavar="FOLDER")] = None
    """The folder of the text, if it has moved."""
    lengths: tuple[int, ...] = ()
    """Exact lengths to score at."""
    scales: tuple[int, ...] = ()
    """Scales to score at, as multiples of the training lengths; by default the task's usual ones (1 2 4)."""
    hard: bool = False
    """Score on hard problems too, such as long carries and repeated symbols; --json lists the scores of each kind."""
    problems: int = 3200
    """Problems per test, rounded up to whole batches."""
    batch_size: int | None = None
    """Problems per batch (32), all of one length; for a text, the number of columns (as in training)."""
    weights: Which = "best"
    """Use the weights with the best periodic test, or the last ones."""
    draw: int = 1
    """Random draw of the problems; each number gives different ones."""
    trust: bool = False
    """Import the modules that RUN names as module:Name, which runs their code (docs/security.md)."""
    save: pathlib.Path | None = None
    """Write a JSON file with the rows, the experiment, and the provenance of training and scores."""
    json: bool = False
    """Print JSON on standard output: one row per length or scale."""


def main(arguments: list[str]) -> int:
    """Runs the command."""
    chosen = parse(Arguments, "eval", arguments)
    for name, value in (("problems", chosen.problems), ("batch-size", chosen.batch_size)):
        if value is not None and value < 1:
            raise LantmError(f"{name} is {value}: give a whole number of at least 1")
    check_draw(chosen.draw)
    if chosen.save:
        destination(chosen.save)  # report its errors first
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
            "command": published("eval", arguments, run=chosen.run),
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
        show(Console(), score_table(rows, f"{chosen.weights} weights of every seed"))
    return 0


def _other_task(source: Source, experiment: Experiment) -> Task:
    """The experiment's task, if it has the same symbols as the machines' own task."""
    other = experiment.build_task()
    if not isinstance(source, Task) or _symbols(other) != _symbols(source):
        raise LantmError(
            f"{experiment.task} has other symbols than {source.name}, which this machine was trained on: "
            "give a task that shares them"
        )
    return other


def _symbols(task: Task) -> tuple[str, int, int]:
    return task.alphabet, task.data_symbols, task.vocabulary

"""`lantm eval`: score a run at any lengths."""

import dataclasses
import json
import pathlib
from typing import Annotated, Literal

import tyro
from rich.console import Console

from lantm.cli.machines import open_machines
from lantm.cli.output import print_json
from lantm.cli.parse import parse, published
from lantm.errors import LantmError
from lantm.evaluation import Examiner
from lantm.provenance import provenance
from lantm.report import score_row, score_table
from lantm.seeds import EVALUATE
from lantm.tasks import Lengths, Task
from lantm.tasks.base import LONGEST_TEXT
from lantm.training import Experiment
from lantm.training.checkpoint import write_whole


@dataclasses.dataclass(frozen=True)
class Arguments:
    """Score every seed of a run at any lengths, on fresh problems.

    Lengths and scales are compiled once, together. 1x are the lengths trained on, 2x the range above them up
    to twice the longest, and from 3x on exactly that multiple of the longest.
    """

    run: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="RUN")]
    """The run folder, or a machine of the zoo: its name, its task's, or a file."""
    task: str | None = None
    """Score on another task of the same symbols: programs[kinds=loop], reverse for a machine that copies."""
    lengths: tuple[int, ...] = ()
    """Exact lengths to score at."""
    scales: tuple[int, ...] = ()
    """Multiples of the training lengths to score at; the task's usual ones (1 2 4) when neither are given."""
    problems: int = 3200
    """Problems at each, rounded up to whole batches."""
    batch_size: int = 32
    """Problems a batch; all problems of a batch have one length."""
    weights: Literal["best", "last"] = "best"
    """The weights with the best periodic test, or the last ones."""
    draw: int = 1
    """Which fresh problems: another number draws others."""
    save: pathlib.Path | None = None
    """Write a JSON file with the rows, the experiment, and where both training and scores come from."""
    json: bool = False
    """Print JSON on standard output: a row for each length or scale."""


def main(arguments: list[str]) -> int:
    """Runs the command."""
    chosen = parse(Arguments, "eval", arguments)
    if chosen.problems < 1 or chosen.batch_size < 1:
        raise LantmError("problems and batch-size are whole numbers from 1 on")
    if not 0 <= chosen.draw < 2**31:
        raise LantmError(f"draw is {chosen.draw}: give a whole number from 0 to {2**31 - 1}")
    machines = open_machines(chosen.run)
    experiment, task = machines.experiment, machines.task
    if chosen.task is not None:
        experiment = dataclasses.replace(experiment, task=chosen.task)
        task = _other_task(task, experiment)
    asked = _asked(task, chosen)
    examiner = Examiner(task, max(lengths.largest for _, lengths in asked), experiment.seeds, chosen.batch_size)
    models = machines.weights(chosen.weights)
    batches = -(-chosen.problems // chosen.batch_size)
    console = Console(stderr=True)
    rows = []
    with console.status("compiling") as status:
        for label, lengths in asked:
            status.update(f"scoring at {label}")
            scores = examiner(models, machines.seeds, lengths, batches, EVALUATE, chosen.draw)
            rows.append(score_row(experiment, label, scores))
    if chosen.save:
        record = {
            "command": published("eval", arguments),
            "rows": rows,
            "experiment": machines.experiment.to_json(),
            "epoch": machines.epoch,
            "weights": chosen.weights,
            "trained": machines.trained,
            "scored": provenance(),
        }
        write_whole(chosen.save, (json.dumps(record, indent=2) + "\n").encode())
    if chosen.json:
        print_json(rows)
    else:
        Console().print(score_table(rows, f"{chosen.weights} weights of every seed, on fresh problems"))
    return 0


def _other_task(task: Task, experiment: Experiment) -> Task:
    """The experiment's task, if machines of the other one know its symbols."""
    other = experiment.build_task()
    if (other.alphabet, other.data_symbols, other.vocabulary) != (task.alphabet, task.data_symbols, task.vocabulary):
        raise LantmError(
            f"{experiment.task} has other symbols than {task.name}, which this machine was trained on: "
            "give a task that shares them"
        )
    return other


def _asked(task: Task, chosen: Arguments) -> list[tuple[str, Lengths]]:
    """What to score at, with the label of each."""
    scales = chosen.scales or (() if chosen.lengths else task.usual_scales)
    asked = [(f"{scale}x", task.lengths_at(scale)) for scale in scales]
    for length in chosen.lengths:
        task.check_length(length)
        share = length / task.train_lengths.largest
        asked.append((f"{share:.3g}x", Lengths(length, length, task.train_lengths.stride)))
    longest = max(lengths.largest for _, lengths in asked)
    if longest > LONGEST_TEXT:
        raise LantmError(f"the longest length is {longest}: ask for lengths up to {LONGEST_TEXT:,}")
    return asked

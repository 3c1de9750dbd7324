"""`lantm trace`: the paper's figures of a machine at work."""

import dataclasses
import pathlib
from typing import Annotated, Literal

import tyro
from rich.console import Console

from lantm.batch import Batch
from lantm.cli.machines import open_machines
from lantm.cli.output import print_json
from lantm.cli.parse import parse
from lantm.errors import LantmError
from lantm.evaluation import record
from lantm.machine import LantmConfig
from lantm.report.figures.canvas import style
from lantm.report.figures.trace import verdict, write_figures
from lantm.seeds import RECORD, seed_key
from lantm.tasks import Task
from lantm.tasks.base import LONGEST_TEXT


@dataclasses.dataclass(frozen=True)
class Arguments:
    """Draw what a trained machine does with one problem: the paper's three figures, as PNG and SVG.

    keys: where memories were written (red, darker is stronger) and where the answer was read (blue, joined in the
    order of time): an overview, the beginning and the end. gates: when heads jumped and when they went on. answer:
    what was expected and what was said; for arithmetic the worked problem. The first mistake is marked in each.
    """

    run: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="RUN")]
    """The run folder, or a machine of the zoo: a task's name, one that `lantm zoo` lists, or a file."""
    length: int | None = None
    """The length of a random problem; by default the longest that was trained on."""
    input: str | None = None
    """A problem of yours, as for lantm solve, instead of a random one."""
    draw: int = 0
    """Which random problem: another number draws another."""
    seed: int | None = None
    """Which seed's machine; by default the one with the best test."""
    weights: Literal["best", "last"] = "best"
    """The weights with the best periodic test, or the last ones."""
    out: pathlib.Path | None = None
    """The folder for the figures; by default figures/length-N below RUN, or figures/NAME/length-N for the zoo."""
    json: bool = False
    """Print JSON on standard output: the files, and how it went."""


def main(arguments: list[str]) -> int:
    """Runs the command."""
    chosen = parse(Arguments, "trace", arguments)
    if chosen.input is not None and chosen.length is not None:
        raise LantmError("--input is a problem of its own length: leave out --length")
    if not 0 <= chosen.draw < 2**31:
        raise LantmError(f"draw is {chosen.draw}: give a whole number from 0 to {2**31 - 1}")
    with style():  # what is missing is said before anything is computed
        pass
    machines = open_machines(chosen.run)
    seed, model = machines.machine(chosen.seed, chosen.weights)
    experiment = machines.experiment
    name, batch = _problem(machines.task, chosen)
    with Console(stderr=True).status(f"running {experiment.task}, {name}"):
        recording = record(model, batch)
    title, about = f"{experiment.task}, {name}", f"{experiment.model}, {chosen.weights} weights of seed {seed}"
    geometry = None
    if isinstance(experiment.machine, LantmConfig):
        geometry = experiment.machine.access.geometry
        about += f", geometry {experiment.machine.geometry}"
    folder = chosen.out or _usual_folder(chosen.run) / name.replace(",", "").replace(" ", "-")
    with Console(stderr=True).status("drawing"):
        files = write_figures(recording, machines.task, geometry, title, about, folder)
    if chosen.json:
        result = {
            "task": experiment.task,
            "model": experiment.model,
            "seed": seed,
            "problem": name,
            "symbols": len(recording.expected),
            "wrong": len(recording.wrong),
            "first_mistake": None if recording.first_mistake is None else recording.first_mistake + 1,
            "files": [str(path) for path in files],
        }
        print_json(result)
        return 0
    print(f"{title}: {verdict(recording)} ({about})")
    if geometry is None:
        print("a machine without a memory has no keys and no gates: only its answer is drawn")
    for path in files:
        print(f"  {path}")
    return 0


def _problem(task: Task, chosen: Arguments) -> tuple[str, Batch]:
    """The problem, and what it is called."""
    if chosen.input is not None:
        return "given input", task.encode(chosen.input)
    length = task.train_lengths.largest if chosen.length is None else chosen.length
    task.check_length(length)
    if length > LONGEST_TEXT:
        raise LantmError(f"length is {length}: ask for lengths up to {LONGEST_TEXT:,}")
    return f"length {length:,}", task.sample(seed_key(chosen.draw, RECORD), 1, length, length)


def _usual_folder(source: str) -> pathlib.Path:
    path = pathlib.Path(source)
    return path / "figures" if path.is_dir() else pathlib.Path("figures") / path.stem

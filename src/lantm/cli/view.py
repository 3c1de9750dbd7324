"""`lantm view`: a page that shows machines at work."""

import dataclasses
import json
import pathlib
import sys
import webbrowser
from typing import Annotated, Literal

import numpy as np
import tyro

from lantm.cli.parse import parse
from lantm.errors import LantmError
from lantm.report.pages.viewer import (
    Machine,
    exhibit,
    one_of,
    sampled_problems,
    usual_lengths,
    viewer_page,
    written_problem,
)
from lantm.training import Experiment, RunFolder, load_learners
from lantm.training.checkpoint import write_whole

_MOST_SEEDS = 8  # in a page, unless they are asked for


@dataclasses.dataclass(frozen=True)
class Arguments:
    """Write a page that shows machines at work: one HTML file that needs no network.

    It shows where the heads went, the gates, the strengths and the read weights, step by step, with every symbol
    of the input and the answer. With two runs, or two seeds, machines stand side by side.
    """

    run: Annotated[tyro.conf.Positional[pathlib.Path], tyro.conf.arg(metavar="RUN")]
    """The run folder."""
    other: Annotated[tyro.conf.Positional[pathlib.Path | None], tyro.conf.arg(metavar="OTHER_RUN")] = None
    """Another run folder, to be shown beside it."""
    seeds: tuple[int, ...] = ()
    """Which seeds' machines; by default the eight with the best tests. The first two stand side by side."""
    lengths: tuple[int, ...] = ()
    """Problems of these lengths; by default 8, the longest trained on, and two and four times that."""
    input: str | None = None
    """A problem of yours, as for lantm solve, instead of random ones."""
    weights: Literal["best", "last"] = "best"
    """The weights with the best periodic test, or the last ones."""
    draw: int = 0
    """Which random problems: another number draws others."""
    out: pathlib.Path | None = None
    """The page to write; by default RUN/view.html."""
    open: bool = False
    """Open it in the browser."""
    json: bool = False
    """Print JSON on standard output: the page, its size, and what is in it."""


def main(arguments: list[str]) -> int:
    """Runs the command."""
    chosen = parse(Arguments, "view", arguments)
    if chosen.lengths and chosen.input is not None:
        raise LantmError("--input is a problem of its own length: leave out --lengths")
    if not 0 <= chosen.draw < 2**31:
        raise LantmError(f"draw is {chosen.draw}: give a whole number from 0 to {2**31 - 1}")
    paths = [chosen.run] if chosen.other is None else [chosen.run, chosen.other]
    groups = [_machines(path, chosen, named=len(paths) > 1) for path in paths]
    machines = [machine for group in groups for machine in group]
    second = len(groups[0]) if len(groups) > 1 else 1
    side_by_side = [0, second] if len(groups) > 1 or len(chosen.seeds) > 1 else [0]
    experiment, first = RunFolder.open(chosen.run).experiment(), _first_problem(machines[0])
    about = f"{experiment.model} on {experiment.task}, recipe {experiment.recipe_name}"
    title = " and ".join(path.resolve().name for path in paths)
    text = viewer_page(title, about, [exhibit(machine) for machine in machines], side_by_side, first).encode()
    page = chosen.out or chosen.run / "view.html"
    write_whole(page, text)
    if chosen.json:
        shown = [{"machine": one.name, "problems": [problem.name for problem in one.problems]} for one in machines]
        json.dump({"page": str(page), "bytes": len(text), "machines": shown}, sys.stdout, indent=2)
        print()
    else:
        print(f"wrote {page} ({len(text) / 1e6:.2f} MB): open it in a browser")
    if chosen.open:
        webbrowser.open(page.resolve().as_uri())
    return 0


def _machines(path: pathlib.Path, chosen: Arguments, named: bool) -> list[Machine]:
    """The machines of a run that were asked for, the best first unless they were named."""
    experiment, task, _, learners, warnings = load_learners(RunFolder.open(path))
    for warning in warnings:
        print(f"lantm: warning: {warning}", file=sys.stderr)
    if chosen.input is not None:
        problems = [written_problem(task, chosen.input)]
    else:
        problems = sampled_problems(task, chosen.lengths or usual_lengths(task), chosen.draw)
    models = learners.best_model if chosen.weights == "best" else learners.model
    ranked = np.argsort(-np.asarray(learners.best_score), kind="stable")
    indices = [_index(path, experiment, seed) for seed in chosen.seeds] or ranked[:_MOST_SEEDS].tolist()
    run = f"{path.resolve().name}, " if named else ""
    return [
        Machine(f"{run}seed {experiment.first_seed + index}", task, one_of(models, index), problems)
        for index in indices
    ]


def _index(path: pathlib.Path, experiment: Experiment, seed: int) -> int:
    index = seed - experiment.first_seed
    if not 0 <= index < experiment.seeds:
        last = experiment.first_seed + experiment.seeds - 1
        raise LantmError(f"{path} has no seed {seed}: it has {experiment.first_seed} to {last}")
    return index


def _first_problem(machine: Machine) -> int:
    """The problem to show first: the longest that was trained on, where it is there."""
    names = [problem.name for problem in machine.problems]
    trained = f"length {machine.task.train_lengths.largest}"
    return names.index(trained) if trained in names else 0

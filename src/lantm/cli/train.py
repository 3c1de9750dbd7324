"""`lantm train`: train a machine, many seeds at once."""

import argparse
import dataclasses
import pathlib
import shlex
from typing import Annotated, Any, Generic, TypeVar

import tyro
from rich.console import Console

from lantm.cli.interrupt import interruptible
from lantm.cli.output import print_json, say
from lantm.cli.parse import parse, required
from lantm.cli.progress import TrainingDisplay
from lantm.errors import LantmError
from lantm.experiments import MODELS, RECIPES, account, preset
from lantm.machine import LantmConfig, LstmConfig
from lantm.provenance import provenance
from lantm.report import score_table, summary_rows
from lantm.report.pages import Machines, try_report
from lantm.training import Experiment, ModelName, Recipe, RunFolder, load_learners, train

Machine = TypeVar("Machine", LantmConfig, LstmConfig)


@dataclasses.dataclass(frozen=True)
class Arguments(Generic[Machine]):
    """Train a machine on a task, many seeds at once, into a run folder.

    --model and --recipe choose the paper's sizes and settings for the task; every other flag changes one of
    them. Ctrl-C saves and says how to go on; `lantm train --resume RUN` goes on, to the same weights as a
    run that was never interrupted.
    """

    task: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="TASK")]
    """What to learn: copy, reverse, bigramFlip, double, addition, programs, or your own as module:Name."""
    machine: Machine
    training: Recipe
    model: ModelName = "lantm-invnorm"
    """Which of the paper's models."""
    recipe: str = "paper"
    """Which settings to begin with: paper (the paper's), robust (ours), demo (short, for a laptop)."""
    seeds: int = 8
    """How many seeds to train side by side, as one program."""
    first_seed: int = 0
    """The first of them; the others count on from there."""
    lengths: Annotated[tuple[int, int] | None, tyro.conf.arg(metavar="FROM TO")] = None
    """Train on problems of these lengths, from and to, instead of the task's."""
    recorded_seeds: int = 8
    """So many seeds, from the first on, are recorded in every epoch, for videos and pages; 0 records nothing."""
    out: Annotated[pathlib.Path | None, tyro.conf.arg(metavar="RUN")] = None
    """The run folder to make; by default runs/TASK-MODEL, or with a number behind it if there is one."""
    resume: Annotated[pathlib.Path | None, tyro.conf.arg(metavar="RUN")] = None
    """Go on with the interrupted run in this folder; takes no other settings."""
    json: bool = False
    """Print the final scores as JSON on standard output."""


def main(arguments: list[str]) -> int:
    """Runs the command."""
    # Names first: they decide which machine there is and what the other flags' defaults are.
    names = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    names.add_argument("--model", default="lantm-invnorm")
    names.add_argument("--recipe", default="paper")
    names.add_argument("--resume", type=pathlib.Path)
    names.add_argument("--json", action="store_true")
    try:
        known, rest = names.parse_known_args(arguments)
    except argparse.ArgumentError as error:
        raise LantmError(f"{error.argument_name}: {error.message}; lantm train --help lists what there is") from error
    if known.resume is not None:
        if rest:
            raise LantmError(f"--resume takes its settings from the run folder: leave out {rest[0]}")
        folder = RunFolder.open(known.resume)
        experiment = folder.experiment()
        if folder.has_checkpoint():
            load_learners(folder)  # what is wrong with it is said before anything else
        return _train(experiment, folder, resume=True, as_json=known.json)
    for kind, name, choices in (("model", known.model, MODELS), ("recipe", known.recipe, RECIPES)):
        if name not in choices:
            raise LantmError(f"unknown {kind} {name!r}: known are {', '.join(choices)}")
    task = rest[0] if rest and not rest[0].startswith("-") else "copy"
    chosen = _chosen(preset(task, known.model, known.recipe), arguments)
    if chosen.task != task:  # it came behind other flags, and has other defaults
        chosen = _chosen(preset(chosen.task, known.model, known.recipe), arguments)
    experiment = Experiment(
        task=chosen.task,
        model=chosen.model,
        machine=chosen.machine,
        recipe=chosen.training,
        recipe_name=chosen.recipe,
        seeds=chosen.seeds,
        first_seed=chosen.first_seed,
        lengths=chosen.lengths,
        recorded_seeds=chosen.recorded_seeds,
    )
    # What is wrong with the task or the machine is said before anything is written.
    account(experiment.machine, experiment.build_task().vocabulary)
    folder = RunFolder.create(chosen.out or free_folder(_usual_folder(experiment)), experiment, provenance())
    return _train(experiment, folder, resume=False, as_json=chosen.json)


def _chosen(defaults: Experiment, arguments: list[str]) -> Arguments[Any]:
    """What the flags make of an experiment."""
    form: Any = Arguments[LstmConfig] if defaults.model == "lstm" else Arguments[LantmConfig]
    default = form(
        task="",
        machine=defaults.machine,
        training=defaults.recipe,
        model=defaults.model,
        recipe=defaults.recipe_name,
    )
    return parse(form, "train", arguments, default=required(default, "task"), config=(tyro.conf.OmitArgPrefixes,))


def _usual_folder(experiment: Experiment) -> pathlib.Path:
    name = "".join(c if c.isalnum() else "-" for c in f"{experiment.task}-{experiment.model}").strip("-")
    return pathlib.Path("runs") / name


def free_folder(path: pathlib.Path) -> pathlib.Path:
    """The folder, or one with a number behind its name where it exists already."""
    free, number = path, 1
    while free.exists():
        number += 1
        free = path.with_name(f"{path.name}-{number}")
    return free


def _train(experiment: Experiment, folder: RunFolder, resume: bool, as_json: bool) -> int:
    # With --json, standard output belongs to the result.
    console = Console(stderr=as_json)
    starts = f", {experiment.recipe.starts} starts each," if experiment.recipe.starts > 1 else ""
    say(
        console,
        f"training {experiment.seeds} seeds{starts} of {experiment.model} on {experiment.task}, "
        f"recipe {experiment.recipe_name}, into {folder.path}",
    )
    with interruptible() as interrupted, TrainingDisplay(console, experiment) as display:
        result = train(experiment, folder, resume, display.update, interrupted, display.warn)
    if not result.complete:
        again = f"lantm train --resume {shlex.quote(str(folder.path))}"
        say(console, f"stopped after epoch {result.epoch} and saved; go on with: {again}")
        return 130
    rows = summary_rows(experiment, result.scores)
    folder.write_summary({"rows": rows, "epoch": result.epoch, "seconds": round(result.seconds, 1), **provenance()})
    console.print(score_table(rows, "best weights of every seed, on fresh problems"))
    learners = result.learners
    machines = Machines(experiment, experiment.build_task(), learners.best_model, learners.seed, result.epoch)
    report = try_report(folder, machines, lambda warning: say(console, f"warning: {warning}"))
    page = f", for people in {report.name}" if report else ""
    say(console, f"trained for {result.seconds:.0f} s; everything is in {folder.path}{page}")
    if as_json:
        print_json(rows)
    return 0

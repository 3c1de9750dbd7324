"""`lantm train`: trains machines on a task or a text, many seeds in parallel."""

import argparse
import dataclasses
import pathlib
import shlex
from typing import Annotated, Any, Generic, TypeVar

import tyro
from rich.console import Console

from lantm.checking import check_own
from lantm.cli.advice import advice
from lantm.cli.opening import open_trained, prepare_devices
from lantm.cli.output import print_json, program, say, show, working
from lantm.cli.parse import parse, required
from lantm.cli.progress import TrainingDisplay
from lantm.errors import LantmError, meant
from lantm.files import free_path
from lantm.interrupt import interruptible
from lantm.machine import Config, Model
from lantm.paper import MODELS, RECIPES, preset
from lantm.provenance import provenance
from lantm.report import score_table
from lantm.report.pages import REPORT, try_report
from lantm.tasks import Source, Text
from lantm.trained import Trained, initial_weights, preset_model, usual_name
from lantm.training import (
    Experiment,
    ModelName,
    Recipe,
    RunFolder,
    TextFiles,
    check_budget,
    estimated_hours,
    load_learners,
    score_rows,
    train,
)

Machine = TypeVar("Machine", bound=Config)


@dataclasses.dataclass(frozen=True)
class Arguments(Generic[Machine]):
    """Train machines on a task or a text, many seeds in parallel, into a run folder.

    --model and --recipe select the paper's sizes and settings for the task; every other flag overrides one of them.
    Ctrl-C saves, also within an epoch, and prints how to continue: `lantm train --resume RUN` ends with the same
    weights as a run that was never interrupted.

    `lantm train text --data FOLDER` trains on next-word prediction for a text in three files: train.txt, valid.txt and
    test.txt, optionally with a common prefix. The standard files of the Penn Treebank (ptb.train.txt, ptb.valid.txt,
    ptb.test.txt) are not part of this package: they are in Tomas Mikolov's simple-examples.tgz.
    """

    task: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="TASK")]
    """Task to train on: copy, reverse, bigramFlip, double, addition, oddFirst, repeatCopy, prioritySort, programs,
    text, or your own as module:Name."""
    machine: Machine
    training: Recipe
    model: ModelName = "lantm-invnorm"
    """Model: one of the paper's three (docs/machine.md), or a peer for comparison (docs/peers.md)."""
    recipe: str = "paper"
    """Recipe to start from: paper (the paper's settings), robust and exact (ours), tuned (for the LSTM and peers),
    second and second-small (the second paper's), demo (short, for a laptop)."""
    data: Annotated[pathlib.Path | None, tyro.conf.arg(metavar="FOLDER")] = None
    """The folder of the text, for the task `text`; with --resume, if it has moved."""
    vocabulary: int = 10_000
    """Maximum vocabulary size of a text; the other words of the training text become <unk>."""
    seeds: int = 8
    """Number of seeds, trained in parallel as one program."""
    first_seed: int = 0
    """The first seed; the others follow consecutively."""
    lengths: Annotated[tuple[int, int] | None, tyro.conf.arg(metavar="FROM TO")] = None
    """Train on lengths from FROM to TO, instead of the task's."""
    recorded_seeds: int = 8
    """Number of seeds, counted from the first, to record after every epoch for videos and pages; 0 records none."""
    out: Annotated[pathlib.Path | None, tyro.conf.arg(metavar="RUN")] = None
    """The run folder to create; by default runs/TASK-MODEL, with a number appended if it exists."""
    start_from: Annotated[str | None, tyro.conf.arg(name="from", metavar="MACHINE")] = None
    """Start all seeds from the weights of a trained machine (zoo, file or run); its settings become the defaults."""
    resume: Annotated[pathlib.Path | None, tyro.conf.arg(metavar="RUN")] = None
    """Continue the run in this folder; only --data, --trust, and --epochs (to extend the run) can be given with it."""
    trust: bool = False
    """Import the modules that RUN or MACHINE names as module:Name, which runs their code (docs/security.md)."""
    json: bool = False
    """Print the final scores as JSON on standard output."""


def main(arguments: list[str]) -> int:
    """Runs the command."""
    # Parse the names first: they determine the machine and the defaults of the other flags.
    names = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    names.add_argument("--model", default="lantm-invnorm")
    names.add_argument("--recipe", default="paper")
    names.add_argument("--resume", type=pathlib.Path)
    names.add_argument("--from", dest="start_from")
    if any(word.partition("=")[0] == "--resume" for word in arguments):
        names.add_argument("--epochs", type=int)  # the only setting of a run that may change
    names.add_argument("--data", type=pathlib.Path)
    names.add_argument("--trust", action="store_true")
    names.add_argument("--json", action="store_true")
    try:
        known, rest = names.parse_known_args(arguments)
    except argparse.ArgumentError as error:
        raise LantmError(f"{error.argument_name}: {error.message}; lantm train --help describes the flags") from error
    if known.resume is not None:
        if rest:
            raise LantmError(f"--resume takes its settings from the run folder: leave out {rest[0]}")
        if known.start_from is not None:
            raise LantmError("--resume continues from the weights of its run: leave out --from")
        return _resume(RunFolder.open(known.resume, known.trust), known.data, known.epochs, known.json)
    for kind, name, choices in (("model", known.model, MODELS), ("recipe", known.recipe, RECIPES)):
        if name not in choices:
            raise LantmError(f"unknown {kind} {name!r}: {meant(name, choices)}")
    origin = None if known.start_from is None else open_trained(known.start_from, known.data, known.trust)
    task = rest[0] if rest and not rest[0].startswith("-") else "copy"
    chosen = _chosen(task, known.model, known.recipe, origin, arguments)
    if chosen.task != task:  # the task came after other flags and has other defaults
        chosen = _chosen(chosen.task, known.model, known.recipe, origin, arguments)
    experiment = Experiment(
        task=chosen.task,
        model=chosen.machine.model_name if ":" in getattr(chosen.machine, "weighting", "") else chosen.model,
        machine=chosen.machine,
        recipe=chosen.training,
        recipe_name=chosen.recipe,
        seeds=chosen.seeds,
        first_seed=chosen.first_seed,
        lengths=chosen.lengths,
        recorded_seeds=chosen.recorded_seeds,
        text=None if chosen.data is None else TextFiles.of(chosen.data, chosen.vocabulary),
    )
    prepare_devices(experiment)
    # Report errors in the task or the machine before anything is written.
    source = experiment.source()
    path = chosen.out or free_path(pathlib.Path("runs") / usual_name(experiment))
    check_budget(experiment, source, path)
    check_own(experiment.modules)
    initial = None if origin is None else initial_weights(origin, experiment, source)
    trained = provenance() | ({} if origin is None else {"from": origin.name})
    folder = RunFolder.create(path, experiment, trained)
    with folder.locked():
        return _train(experiment, source, folder, False, chosen.json, initial)


def _chosen(task: str, model: str, recipe: str, origin: Trained | None, arguments: list[str]) -> Arguments[Any]:
    """The flags, with the defaults of the preset or of the machine that training starts from."""
    defaults = preset(task, model if origin is None else preset_model(origin.experiment), recipe)
    if origin is not None:
        defaults = dataclasses.replace(defaults, machine=origin.experiment.machine)
    kind: Any = type(defaults.machine)
    form: Any = Arguments[kind]
    default = form(
        task="",
        machine=defaults.machine,
        training=defaults.recipe,
        model=defaults.model,
        recipe=defaults.recipe_name,
        seeds=defaults.seeds,
        lengths=defaults.lengths,
    )
    flat = (tyro.conf.OmitArgPrefixes,)
    chosen: Arguments[Any] = parse(form, "train", arguments, default=required(default, "task"), config=flat)
    return chosen


def _resume(folder: RunFolder, data: pathlib.Path | None, epochs: int | None, as_json: bool) -> int:
    experiment = folder.experiment()
    prepare_devices(experiment)
    source = experiment.source(data)
    if folder.has_checkpoint():
        load_learners(folder, experiment, source)  # report its errors first
    with folder.locked():
        if epochs is not None:
            experiment = folder.extend(epochs)
        return _train(experiment, source, folder, True, as_json)


def _train(
    experiment: Experiment,
    source: Source,
    folder: RunFolder,
    resume: bool,
    as_json: bool,
    initial: Model | None = None,
) -> int:
    # With --json, standard output is reserved for the result.
    console = Console(stderr=as_json)
    starts = f", {experiment.recipe.starts} starts each," if experiment.recipe.starts > 1 else ""
    seeds = "1 seed" if experiment.seeds == 1 else f"{experiment.seeds} seeds"
    complete = resume and folder.summary().get("epoch") == experiment.recipe.epochs
    what = f"{seeds}{starts} of {experiment.model} on {experiment.task}, recipe {experiment.recipe_name}"
    if origin := folder.provenance().get("from"):
        what += f", from {origin}"
    if complete:
        say(console, f"already complete: {what}, in {folder.path}; to train it further, add --epochs N")
    else:
        say(console, f"training {what}, into {folder.path}")
    if isinstance(source, Text):
        corpus = source.corpus
        words = f"{len(corpus.train):,} words, validated on {len(corpus.valid):,}"
        say(console, f"on {words}, {len(corpus.words):,} different ones")
    left = 1 - folder.last_epoch() / experiment.recipe.epochs
    if (hours := left * estimated_hours(experiment, source)) > 1:
        say(console, f"estimated time: about {hours:,.0f} hours")
    trust = " --trust" if experiment.modules else ""
    command = f"{program()} train --resume {shlex.quote(str(folder.path))}{trust}"
    again = f"continue with: {command}"
    with interruptible(afterwards=again) as interrupted, TrainingDisplay(console, experiment) as display:
        stop = lambda: interrupted() or display.closed  # noqa: E731
        result = train(
            experiment, folder, source, resume, display.update, stop, display.warn, initial, display.announce
        )
    if display.closed and not result.complete:
        raise BrokenPipeError(f"stopped after epoch {result.epoch} and saved; {again}")
    if not result.complete:
        say(console, f"stopped after epoch {result.epoch} and saved; {again}")
        return 130
    rows = score_rows(experiment, result.tests)
    if folder.summary().get("epoch") != result.epoch:  # a run that was already complete keeps its summary
        folder.write_summary({"rows": rows, "epoch": result.epoch, "seconds": round(result.seconds, 1), **provenance()})
    show(console, score_table(rows, "best weights of every seed"))
    report: pathlib.Path | None = folder.path / REPORT
    if not (complete and folder.has_since_completion(REPORT)):
        with working("writing the report", console):
            report = try_report(Trained.of_result(result, folder), lambda warning: say(console, f"warning: {warning}"))
    page = f"; open {report} in a browser" if report else ""
    say(console, f"trained for {result.seconds:.0f} s; everything is in {folder.path}{page}")
    for line in advice(experiment, rows, command):
        say(console, line)
    if as_json:
        print_json(rows)
    return 0

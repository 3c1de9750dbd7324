"""`lantm language train`: train a machine on a text, many seeds at once."""

import argparse
import dataclasses
import pathlib
import shlex
from typing import Annotated, Any, Generic, TypeVar

import tyro
from rich.console import Console

from lantm.cli.interrupt import interruptible
from lantm.cli.language.display import LanguageDisplay
from lantm.cli.output import print_json, say
from lantm.cli.parse import parse, required
from lantm.cli.train import free_folder
from lantm.errors import LantmError
from lantm.experiments import MODELS, language_machine
from lantm.language import Corpus, LanguageExperiment, LanguageRecipe, open_corpus, read_corpus, train
from lantm.machine import LantmConfig, LstmConfig
from lantm.provenance import provenance
from lantm.report import perplexity_rows, perplexity_table
from lantm.training import ModelName, RunFolder

Machine = TypeVar("Machine", LantmConfig, LstmConfig)


@dataclasses.dataclass(frozen=True)
class Arguments(Generic[Machine]):
    """Train a machine on a text, many seeds at once, into a run folder.

    --model chooses the paper's sizes and settings; every other flag changes one of them. Ctrl-C saves, also within an
    epoch, and says how to go on; `lantm language train --resume RUN` goes on, to the same weights as a run that was
    never interrupted.
    """

    data: Annotated[tyro.conf.Positional[pathlib.Path], tyro.conf.arg(metavar="FOLDER")]
    """The folder of the text: train.txt, valid.txt and test.txt, or the same with a name in front (ptb.train.txt)."""
    machine: Machine
    recipe: LanguageRecipe
    model: ModelName = "lantm-invnorm"
    """Which of the paper's models."""
    vocabulary: int = 10_000
    """The most words to tell apart; the rest of the training text's words are <unk>."""
    seeds: int = 1
    """How many seeds to train side by side, as one program."""
    first_seed: int = 0
    """The first of them; the others count on from there."""
    out: Annotated[pathlib.Path | None, tyro.conf.arg(metavar="RUN")] = None
    """The run folder to make; by default runs/language-MODEL, or with a number behind it if there is one."""
    resume: Annotated[pathlib.Path | None, tyro.conf.arg(metavar="RUN")] = None
    """Go on with the interrupted run in this folder; takes no other settings than --data."""
    json: bool = False
    """Print the final perplexities as JSON on standard output."""


def main(arguments: list[str]) -> int:
    """Runs the command."""
    # Names first: they decide which machine there is and what the other flags' defaults are.
    names = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    names.add_argument("--model", default="lantm-invnorm")
    names.add_argument("--resume", type=pathlib.Path)
    names.add_argument("--data", type=pathlib.Path)
    names.add_argument("--json", action="store_true")
    try:
        known, rest = names.parse_known_args(arguments)
    except argparse.ArgumentError as error:
        raise LantmError(
            f"{error.argument_name}: {error.message}; lantm language train --help lists what there is"
        ) from error
    if known.resume is not None:
        if rest:
            raise LantmError(f"--resume takes its settings from the run folder: leave out {rest[0]}")
        folder = RunFolder.open(known.resume)
        experiment = LanguageExperiment.from_json(folder.record(LanguageExperiment.kind))
        return _train(experiment, open_corpus(experiment, known.data), folder, resume=True, as_json=known.json)
    if known.model not in MODELS:
        raise LantmError(f"unknown model {known.model!r}: known are {', '.join(MODELS)}")
    chosen = _chosen(known.model, arguments)
    corpus = read_corpus(chosen.data, chosen.vocabulary)
    experiment = LanguageExperiment(
        data=str(chosen.data.resolve()),
        digest=corpus.digest,
        vocabulary=chosen.vocabulary,
        model=chosen.model,
        machine=chosen.machine,
        recipe=chosen.recipe,
        seeds=chosen.seeds,
        first_seed=chosen.first_seed,
    )
    corpus.check_columns(experiment.recipe.batch_size)
    path = chosen.out or free_folder(pathlib.Path("runs") / f"language-{experiment.model}")
    return _train(experiment, corpus, RunFolder.create(path, experiment, provenance()), False, chosen.json)


def _chosen(model: ModelName, arguments: list[str]) -> Arguments[Any]:
    """What the flags make of the paper's settings."""
    form: Any = Arguments[LstmConfig] if model == "lstm" else Arguments[LantmConfig]
    default = form(data=pathlib.Path(), machine=language_machine(model), recipe=LanguageRecipe(), model=model)
    config = (tyro.conf.OmitArgPrefixes,)
    return parse(form, "language train", arguments, default=required(default, "data"), config=config)


def _train(experiment: LanguageExperiment, corpus: Corpus, folder: RunFolder, resume: bool, as_json: bool) -> int:
    # With --json, standard output belongs to the result.
    console = Console(stderr=as_json)
    seeds = "1 seed" if experiment.seeds == 1 else f"{experiment.seeds} seeds"
    say(console, f"training {seeds} of {experiment.model} into {folder.path}")
    say(
        console,
        f"on {len(corpus.train):,} words, validated on {len(corpus.valid):,}, {len(corpus.words):,} different ones",
    )
    with interruptible("this stretch of text") as interrupted, LanguageDisplay(console, experiment) as display:
        result = train(experiment, corpus, folder, resume, display.update, interrupted, display.warn)
    if result.validation is None or result.test is None:
        again = f"lantm language train --resume {shlex.quote(str(folder.path))}"
        say(console, f"stopped after {result.epoch} whole epochs and saved; go on with: {again}")
        return 130
    rows = perplexity_rows(experiment, result.validation, result.test)
    folder.write_summary({"rows": rows, "epoch": result.epoch, "seconds": round(result.seconds, 1), **provenance()})
    console.print(perplexity_table(rows, f"{experiment.model}: perplexity with the best weights of every seed"))
    say(console, f"trained for {result.seconds:.0f} s; everything is in {folder.path}")
    if as_json:
        print_json(rows)
    return 0

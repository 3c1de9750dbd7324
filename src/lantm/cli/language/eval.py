"""`lantm language eval`: the perplexity of a run's machines."""

import dataclasses
import json
import pathlib
from typing import Annotated, Literal

import tyro
from rich.console import Console

from lantm.cli.language.runs import open_run
from lantm.cli.output import print_json
from lantm.cli.parse import parse, published
from lantm.errors import LantmError
from lantm.language import Examiner
from lantm.provenance import provenance
from lantm.report import perplexity_rows, perplexity_table
from lantm.training.checkpoint import write_whole


@dataclasses.dataclass(frozen=True)
class Arguments:
    """The perplexity of every seed of a run on validation and test, over every word of them.

    A text is read in columns side by side, each of which begins without a past; state and memory are carried along a
    column. --batch-size 1 reads it from beginning to end in one.
    """

    run: Annotated[tyro.conf.Positional[pathlib.Path], tyro.conf.arg(metavar="RUN")]
    """The run folder."""
    data: Annotated[pathlib.Path | None, tyro.conf.arg(metavar="FOLDER")] = None
    """The folder of the text, if it is no longer where it was."""
    batch_size: int | None = None
    """Columns; by default as many as in training."""
    weights: Literal["best", "last"] = "best"
    """The weights with the best validation, or the last ones."""
    save: pathlib.Path | None = None
    """Write a JSON file with the rows, the experiment, and where both training and perplexities come from."""
    json: bool = False
    """Print JSON on standard output: a row for validation and one for test."""


def main(arguments: list[str]) -> int:
    """Runs the command."""
    chosen = parse(Arguments, "language eval", arguments)
    if chosen.batch_size is not None and chosen.batch_size < 1:
        raise LantmError(f"batch-size is {chosen.batch_size}: give a whole number from 1 on")
    run = open_run(chosen.run, chosen.data)
    recipe = run.experiment.recipe
    models = run.learners.best_model if chosen.weights == "best" else run.learners.model
    with Console(stderr=True).status("reading"):
        validation, test = (
            Examiner(text, run.corpus.end, run.experiment.seeds, chosen.batch_size or recipe.batch_size, recipe.steps)(
                models
            )
            for text in (run.corpus.valid, run.corpus.test)
        )
    rows = perplexity_rows(run.experiment, validation, test)
    if chosen.save:
        record = {
            "command": published("language eval", arguments),
            "rows": rows,
            "experiment": run.experiment.published(),
            "text": run.corpus.facts(),
            "epoch": run.epoch,
            "weights": chosen.weights,
            "trained": run.folder.provenance(),
            "scored": provenance(),
        }
        write_whole(chosen.save, (json.dumps(record, indent=2) + "\n").encode())
    if chosen.json:
        print_json(rows)
    else:
        title = f"{run.experiment.model}: perplexity with the {chosen.weights} weights of every seed"
        Console().print(perplexity_table(rows, title))
    return 0

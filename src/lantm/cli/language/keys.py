"""`lantm language keys`: where the heads of a trained machine went."""

import dataclasses
import json
import pathlib
from typing import Annotated, Literal

import jax
import jax.numpy as jnp
import numpy as np
import tyro
from rich.console import Console

from lantm.cli.language.runs import open_run
from lantm.cli.output import print_json, say
from lantm.cli.parse import parse, published
from lantm.errors import LantmError
from lantm.language.footprints import find, follow
from lantm.language.pieces import cut
from lantm.machine import Lantm
from lantm.provenance import provenance
from lantm.report.figures.canvas import save, style
from lantm.report.figures.footprints import describe, draw_footprints
from lantm.training.checkpoint import write_whole


@dataclasses.dataclass(frozen=True)
class Arguments:
    """A figure of where the heads of a trained machine went while it read a text, and the numbers behind it.

    The paper saw read and write locations in two distant clusters, and keys that blew up: do they here? Shown are the
    locations in one column of the text, the norms of keys in all columns, and over how many memories a reading is
    spread.
    """

    run: Annotated[tyro.conf.Positional[pathlib.Path], tyro.conf.arg(metavar="RUN")]
    """The run folder."""
    out: Annotated[pathlib.Path | None, tyro.conf.arg(metavar="PATH")] = None
    """The figure, as PATH.png and PATH.svg; by default figures/keys below RUN."""
    text: Literal["train", "valid", "test"] = "valid"
    """Which part of the text is read."""
    batch_size: int | None = None
    """Columns it is read in; by default as many as in training. Fewer are longer."""
    seed: int | None = None
    """Which seed's machine; by default the one with the best validation."""
    data: Annotated[pathlib.Path | None, tyro.conf.arg(metavar="FOLDER")] = None
    """The folder of the text, if it is no longer where it was."""
    save: pathlib.Path | None = None
    """Write a JSON file with the numbers, the experiment, and where both come from."""
    json: bool = False
    """Print the numbers as JSON on standard output."""


def main(arguments: list[str]) -> int:
    """Runs the command."""
    chosen = parse(Arguments, "language keys", arguments)
    with style():  # what is missing is said before anything is computed
        pass
    run = open_run(chosen.run, chosen.data)
    experiment = run.experiment
    index = int(np.argmin(run.learners.best_loss)) if chosen.seed is None else chosen.seed - experiment.first_seed
    if not 0 <= index < experiment.seeds:
        last = experiment.first_seed + experiment.seeds - 1
        raise LantmError(f"{chosen.run} has no seed {chosen.seed}: it has {experiment.first_seed} to {last}")
    model = jax.tree.map(lambda weights: jnp.asarray(weights[index]), run.learners.best_model)
    if not isinstance(model, Lantm):
        raise LantmError(f"{chosen.run} holds an LSTM, which has no heads: take a run of a LANTM")
    if chosen.batch_size is not None and chosen.batch_size < 1:
        raise LantmError(f"batch-size is {chosen.batch_size}: give a whole number from 1 on")
    batch_size = chosen.batch_size or experiment.recipe.batch_size
    words = cut(run.corpus.part(chosen.text), batch_size, 1, run.corpus.end).inputs[:, 0]
    with Console(stderr=True).status("reading"):
        steps = jax.device_get(jax.jit(follow)(model, words))
    found = find(model, steps)
    seed = experiment.first_seed + index
    title = f"{experiment.model}, seed {seed}, on {len(words):,} words in each of {batch_size} columns"
    with Console(stderr=True).status("drawing"):
        files = save(
            lambda: draw_footprints(steps, model.config.read_heads, "Where heads go on a long text", title),
            chosen.out or chosen.run / "figures" / "keys",
        )
    record = {"model": experiment.model, "seed": seed, "text": chosen.text, "columns": batch_size, "steps": len(words)}
    record |= {name: round(value, 4) for name, value in found._asdict().items()}
    if chosen.save:
        origin = {
            "command": published("language keys", arguments, run=str(chosen.run)),
            "experiment": experiment.published(),
            "epoch": run.epoch,
            "best_epoch": int(run.learners.best_epoch[index]),
            "trained": run.folder.provenance(),
            "scored": provenance(),
        }
        write_whole(chosen.save, (json.dumps(record | origin, indent=2) + "\n").encode())
    if chosen.json:
        print_json(record)
    else:
        console = Console()
        for line in (title, *describe(found), f"the figure is in {' and '.join(map(str, files))}"):
            say(console, line)
    return 0

"""`lantm trace`: draws the paper's plots of a machine solving one problem (keys, gates, answer)."""

import dataclasses
import pathlib
from typing import Annotated, Any

import jax
import numpy as np
import tyro

from lantm.batch import Batch
from lantm.cli.opening import open_trained
from lantm.cli.output import print_json, working
from lantm.cli.parse import parse, published
from lantm.cli.printable import printable
from lantm.errors import LantmError
from lantm.evaluation import Recording
from lantm.evaluation.examiner import check_draw
from lantm.evaluation.footprints import find, follow
from lantm.files import check_folder, check_links, destination, write_json
from lantm.machine import Lantm
from lantm.provenance import provenance
from lantm.report.figures.canvas import save, style
from lantm.report.figures.footprints import describe, draw_footprints
from lantm.report.figures.trace import verdict, write_figures
from lantm.tasks import Text
from lantm.tasks.corpus import Part
from lantm.trained import Trained, Which


@dataclasses.dataclass(frozen=True)
class Arguments:
    """Draw what a trained machine does on one problem: the paper's three plots, as PNG and SVG.

    keys: where memories were written (red, darker is stronger) and where the answer was read (blue, joined in order of
    time), as an overview, the beginning and the end. gates: when heads jumped and when they continued. answer: the
    expected and the predicted answer; for arithmetic the worked problem. The first mistake is marked in each.

    For a text, the problem is a passage of its validation part, and there is a fourth plot, heads: where the heads went
    while a whole part of the text was read. The paper saw read and write locations in two distant clusters, and
    suspected that keys blow up; the measured distances and norms are printed.
    """

    run: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="RUN")]
    """A run folder, a machine file, or a machine of the zoo (a task's name or a name from `lantm zoo`)."""
    length: int | None = None
    """Length of a random problem; by default the longest training length."""
    input: str | None = None
    """A problem as for lantm solve, instead of a random one."""
    draw: int = 0
    """Random draw of the problem; each number gives a different one."""
    seed: int | None = None
    """Seed of the machine to use; by default the one with the best test."""
    weights: Which = "best"
    """Use the weights with the best periodic test, or the last ones."""
    data: Annotated[pathlib.Path | None, tyro.conf.arg(metavar="FOLDER")] = None
    """The folder of the text, if it has moved."""
    part: Part = "valid"
    """Part of a text to read for the plot of the heads."""
    batch_size: int | None = None
    """Number of columns in which that part is read; by default as in training. Fewer columns are longer."""
    trust: bool = False
    """Import the modules that RUN names as module:Name, which runs their code (docs/security.md)."""
    out: pathlib.Path | None = None
    """Folder for the plots; by default RUN/figures/length-N, or figures/NAME/length-N for the zoo."""
    save: pathlib.Path | None = None
    """Write a JSON file with the outcome, the experiment and the provenance of both."""
    json: bool = False
    """Print JSON on standard output: the files and the outcome."""


def main(arguments: list[str]) -> int:
    """Runs the command."""
    chosen = parse(Arguments, "trace", arguments)
    if chosen.input is not None and chosen.length is not None:
        raise LantmError("--input has its own length: leave out --length")
    check_draw(chosen.draw)
    if chosen.batch_size is not None and chosen.batch_size < 1:
        raise LantmError(f"batch-size is {chosen.batch_size}: give a whole number of at least 1")
    with style():  # raises an error without matplotlib, before anything is computed
        pass
    if chosen.save:
        destination(chosen.save)  # report its errors first
    if chosen.out:
        check_folder(chosen.out)
    else:
        check_links(_usual_folder(chosen.run))
    machines = open_trained(chosen.run, chosen.data, chosen.trust)
    experiment = machines.experiment
    index = machines.index(chosen.seed)
    seed = int(machines.start_seeds[index])
    name, batch = _problem(machines, chosen)
    with working(f"running {experiment.task}, {name}"):
        recording = machines.trace(batch, chosen.seed, chosen.weights)
    title, about = f"{experiment.task}, {name}", f"{experiment.model}, {chosen.weights} weights of seed {seed}"
    geometry = machines.geometry
    if geometry is not None:
        about += f", geometry {getattr(experiment.machine, 'geometry', '')}"
    folder = chosen.out or _usual_folder(chosen.run) / name.replace(",", "").replace(" ", "-")
    with working("drawing"):
        files = write_figures(recording, machines.source, geometry, title, about, folder)
    result: dict[str, Any] = {
        "task": experiment.task,
        "model": experiment.model,
        "seed": seed,
        "problem": name,
        "symbols": len(recording.expected),
        "wrong": len(recording.wrong),
        "first_mistake": None if recording.first_mistake is None else recording.first_mistake + 1,
    }
    lines = [f"{title}: {verdict(recording)} ({about})"]
    if (settled := _settled_steps(recording)) is not None:
        result["settled_steps"] = settled
        counts = " and ".join(map(str, settled))
        lines.append(f"read heads settled on a memory in {counts} of {len(recording.expected)} steps of the answer")
    if geometry is None:
        lines.append("this model has no heads in a key space: only its answer is drawn")
    elif isinstance(machines.source, Text) and len(machines.source.corpus.part(chosen.part)):
        found, more, drawn = _heads(machines, machines.source, chosen, folder)
        result, lines, files = result | found, [*lines, *more], [*files, *drawn]
    if chosen.save:
        origin = {
            "command": published("trace", arguments, run=chosen.run),
            "experiment": experiment.published(),
            "epoch": machines.epoch,
            "best_epoch": int(machines.best_epochs[index]),
            "trained": machines.trained,
            "scored": provenance(),
        }
        write_json(chosen.save, result | origin)
    if chosen.json:
        print_json(result | {"files": [str(path) for path in files]})
    else:
        print(printable("\n".join([*lines, *(f"  {path}" for path in files)])))
    return 0


def _heads(
    machines: Trained, text: Text, chosen: Arguments, folder: pathlib.Path
) -> tuple[dict[str, Any], list[str], list[pathlib.Path]]:
    """Where the heads went in a part of a text: the findings, sentences about them, and the plot's files."""
    model = machines.model(chosen.seed, chosen.weights)
    assert isinstance(model, Lantm)
    columns = chosen.batch_size or machines.experiment.recipe.batch_size
    pieces = text.pieces(chosen.part, columns)
    words = pieces.inputs.reshape(-1, columns)[: -(-len(text.corpus.part(chosen.part)) // columns)]
    with working("reading"):
        steps = jax.device_get(jax.jit(follow)(model, words))
    found = find(model, steps)
    title = f"{machines.experiment.model} on {len(words):,} words in each of {columns} columns"
    with working("drawing"):
        files = save(
            lambda: draw_footprints(steps, model.config.read_heads, "Where heads go on a long text", title),
            folder / "heads",
        )
    result = {"text": chosen.part, "columns": columns, "steps": len(words)}
    result |= {name: round(value, 4) for name, value in found._asdict().items()}
    return result, [title, *describe(found)], files


def _settled_steps(recording: Recording) -> list[int] | None:
    """The number of steps of the answer in which each read head settled; None for machines that do not settle."""
    if recording.heads is None or recording.heads.settled_on is None:
        return None
    return [int(steps) for steps in np.sum(recording.heads.settled_on[recording.answer_start :] >= 0, axis=0)]


def _problem(machines: Trained, chosen: Arguments) -> tuple[str, Batch]:
    """The problem and its name."""
    if chosen.input is not None:
        return "given input", machines.source.encode(chosen.input)
    length = machines.source.train_lengths.largest if chosen.length is None else chosen.length
    return f"length {length:,}", machines.problem(length, chosen.draw)


def _usual_folder(source: str) -> pathlib.Path:
    path = pathlib.Path(source)
    return path / "figures" if path.is_dir() else pathlib.Path("figures") / path.stem

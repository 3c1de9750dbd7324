"""`lantm video`: watch a machine learn."""

import dataclasses
import pathlib
from typing import Annotated

import numpy as np
import tyro
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from lantm import zoo
from lantm.cli.output import print_json
from lantm.cli.parse import parse
from lantm.errors import LantmError
from lantm.machine import LantmConfig
from lantm.report.figures.canvas import style
from lantm.report.figures.video import Reel, write_gif, write_mp4
from lantm.training import Experiment, RunFolder


@dataclasses.dataclass(frozen=True)
class Arguments:
    """Make a video of a training: one frame an epoch, from the recordings that lantm train makes.

    After every epoch the machine ran one random problem of the longest training length. A frame shows where it wrote
    (red, darker is stronger) and read (blue), its answer beside the right one, the epoch, the loss and the latest
    test's scores. A run that is still training shows what there is so far.
    """

    run: Annotated[tyro.conf.Positional[pathlib.Path], tyro.conf.arg(metavar="RUN")]
    """The run folder."""
    seed: int | None = None
    """Which seed; by default the best of those that were recorded."""
    every: int = 1
    """Epochs from one frame to the next."""
    rate: int = 20
    """Frames a second."""
    out: pathlib.Path | None = None
    """The file: .gif, or .mp4 with the extra `lantm[video]`. By default RUN/video-seed-N.gif."""
    json: bool = False
    """Print JSON on standard output: the file, its frames and its size."""


def main(arguments: list[str]) -> int:
    """Runs the command."""
    chosen = parse(Arguments, "video", arguments)
    if chosen.every < 1 or not 1 <= chosen.rate <= 50:
        raise LantmError("every is a whole number from 1 on, and rate one from 1 to 50")
    if chosen.out is not None and chosen.out.suffix not in (".gif", ".mp4"):
        raise LantmError(f"{chosen.out} is neither a .gif nor an .mp4: give --out one of these endings")
    if not chosen.run.exists() and zoo.find(str(chosen.run)) is not None:
        raise LantmError(f"{chosen.run} is a machine of the zoo, which keeps no recordings: give the folder of a run")
    console = Console(stderr=True)
    with style():
        folder = RunFolder.open(chosen.run)
        experiment = folder.experiment()
        seed = _best_seed(folder, experiment) if chosen.seed is None else chosen.seed
        path = chosen.out or chosen.run / f"video-seed-{seed}.gif"
        reel = _reel(folder, experiment, seed, chosen.every)
        columns = (TextColumn("frame"), MofNCompleteColumn(), BarColumn(), TimeRemainingColumn(compact=True))
        with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
            bar = progress.add_task("drawing", total=len(reel.epochs))
            write = write_mp4 if path.suffix == ".mp4" else write_gif
            write(path, reel, chosen.rate, lambda: progress.advance(bar))
    size = path.stat().st_size
    if chosen.json:
        result = {"file": str(path), "seed": seed, "frames": len(reel.epochs), "bytes": size}
        print_json(result)
    else:
        print(f"wrote {path} ({size / 1e6:.2f} MB): {len(reel.epochs)} epochs of seed {seed}")
    return 0


def _best_seed(folder: RunFolder, experiment: Experiment) -> int:
    """Of the recorded seeds, that with the best test; the first before there was one."""
    recorded = range(experiment.first_seed, experiment.first_seed + min(experiment.seeds, experiment.recorded_seeds))
    best: dict[int, float] = {}
    totals: dict[tuple[int, int], float] = {}
    for row in folder.metrics():
        if "test" in row and row["seed"] in recorded:
            at = (row["seed"], row["epoch"])
            totals[at] = totals.get(at, 0.0) + row["coarse"] + 0.01 * row["fine"]
            best[row["seed"]] = max(best.get(row["seed"], 0.0), totals[at])
    return max(best, key=lambda seed: best[seed], default=experiment.first_seed)


def _reel(folder: RunFolder, experiment: Experiment, seed: int, every: int) -> Reel:
    """What was recorded of a seed, with its losses and scores."""
    recorded = [(epoch, recording) for epoch, recording in folder.recordings(seed) if (epoch - 1) % every == 0]
    if not recorded:
        raise LantmError(
            f"{folder.path} has no recordings: lantm train makes them unless it is told --recorded-seeds 0, "
            "from the first test on"
        )
    losses: dict[int, float] = {}
    tests: dict[int, dict[str, tuple[float, float]]] = {}
    for row in folder.metrics():
        if row["seed"] != seed:
            continue
        if "test" in row:
            tests.setdefault(row["epoch"], {})[row["test"]] = (row["coarse"], row["fine"])
        elif row["loss"] is not None and np.isfinite(row["loss"]):
            losses[row["epoch"]] = row["loss"]
    epochs, recordings = zip(*recorded, strict=True)
    machine, task = experiment.machine, experiment.build_task()
    return Reel(
        title=f"{experiment.model} learns {experiment.task}: length {task.train_lengths.largest}, seed {seed}",
        task=task,
        geometry=machine.access.geometry if isinstance(machine, LantmConfig) else None,
        epochs=list(epochs),
        recordings=list(recordings),
        losses=losses,
        tests=tests,
    )

"""`lantm video`: renders a video of a training, one frame per epoch."""

import dataclasses
import math
import pathlib
from typing import Annotated

import tyro
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from lantm.cli.heartbeat import doing
from lantm.cli.opening import open_run
from lantm.cli.output import print_json
from lantm.cli.parse import parse
from lantm.cli.printable import printable
from lantm.errors import LantmError
from lantm.files import check_links, destination
from lantm.report.figures.canvas import style
from lantm.report.figures.video import Reel, write_gif, write_mp4
from lantm.trained import Trained


@dataclasses.dataclass(frozen=True)
class Arguments:
    """Make a video of a training, one frame per epoch, from the recordings made by lantm train.

    After every epoch, the machine runs a random problem of the longest training length. A frame shows where it wrote
    (red, darker is stronger) and read (blue), its answer beside the expected one, the epoch, the loss and the latest
    test scores. For a run that is still training, it shows the epochs so far.
    """

    run: Annotated[tyro.conf.Positional[pathlib.Path], tyro.conf.arg(metavar="RUN")]
    """The run folder."""
    seed: int | None = None
    """The seed; by default the best recorded one."""
    every: int = 1
    """Epochs between frames."""
    rate: int = 20
    """Frames per second."""
    data: Annotated[pathlib.Path | None, tyro.conf.arg(metavar="FOLDER")] = None
    """The folder of the text, if it has moved."""
    trust: bool = False
    """Import the modules that RUN names as module:Name, which runs their code (docs/security.md)."""
    out: pathlib.Path | None = None
    """The output file: .gif, or .mp4 with imageio-ffmpeg. By default RUN/video-seed-N.gif."""
    json: bool = False
    """Print JSON on standard output: the file, its frames and its size."""


def main(arguments: list[str]) -> int:
    """Runs the command."""
    chosen = parse(Arguments, "video", arguments)
    if chosen.every < 1 or not 1 <= chosen.rate <= 50:
        raise LantmError("every is a whole number of at least 1, and rate one from 1 to 50")
    if chosen.out is not None and chosen.out.suffix not in (".gif", ".mp4"):
        raise LantmError(f"{chosen.out} is neither a .gif nor an .mp4: give --out one of these endings")
    if chosen.out is not None:
        destination(chosen.out)  # report its errors first
    else:
        check_links(chosen.run)
    console = Console(stderr=True)
    with style():
        trained = open_run(chosen.run, chosen.data, chosen.trust)
        seed = _best_recorded(trained) if chosen.seed is None else chosen.seed
        path = chosen.out or chosen.run / f"video-seed-{seed}.gif"
        reel = _reel(trained, seed, chosen.every)
        columns = (TextColumn("frame"), MofNCompleteColumn(), BarColumn(), TimeRemainingColumn(compact=True))
        progress = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
        bar = progress.add_task("drawing", total=len(reel.epochs))
        with doing(lambda: f"{progress.tasks[0].completed:.0f} of {len(reel.epochs)} frames drawn"), progress:
            write = write_mp4 if path.suffix == ".mp4" else write_gif
            write(path, reel, chosen.rate, lambda: progress.advance(bar))
    size = path.stat().st_size
    if chosen.json:
        result = {"file": str(path), "seed": seed, "frames": len(reel.epochs), "bytes": size}
        print_json(result)
    else:
        print(printable(f"wrote {path} ({size / 1e6:.2f} MB): {len(reel.epochs)} epochs of seed {seed}"))
    return 0


def _best_recorded(trained: Trained) -> int:
    """The recorded seed with the best test."""
    recorded = trained.experiment.recorded
    return next((trained.seeds[at] for at in trained.ranked if trained.seeds[at] in recorded), trained.seeds[0])


def _reel(trained: Trained, seed: int, every: int) -> Reel:
    """The recordings of a seed, with its losses and scores."""
    folder, history, experiment, source = trained.folder, trained.history, trained.experiment, trained.source
    assert folder is not None
    assert history is not None
    recorded = [(epoch, recording) for epoch, recording in folder.recordings(source, seed) if (epoch - 1) % every == 0]
    if not recorded:
        raise LantmError(
            f"{folder.path} has no recordings: lantm train writes them from the first test on, unless "
            "--recorded-seeds is 0"
        )
    index = experiment.seed_index(seed)
    tests: dict[int, dict[str, str]] = {}
    for label, curves in history.tests.items():
        for at, epoch in enumerate(curves.epochs.tolist()):
            values = {name: table[at, index] for name, table in curves.figures.items()}
            tests.setdefault(epoch, {})[label] = _in_words(values)
    epochs, recordings = zip(*recorded, strict=True)
    losses = dict(zip(history.epochs.tolist(), history.loss[:, index].tolist(), strict=True))
    return Reel(
        title=f"{experiment.model} learns {experiment.task}: length {source.train_lengths.largest}, seed {seed}",
        task=source,
        geometry=trained.geometry,
        epochs=list(epochs),
        recordings=list(recordings),
        losses={epoch: loss for epoch, loss in losses.items() if math.isfinite(loss)},
        tests=tests,
    )


def _in_words(figures: dict[str, float]) -> str:
    """The scores of a test, in a few words."""
    if "perplexity" in figures:
        return f"perplexity {figures['perplexity']:.1f}"
    return f"{figures['coarse']:.1f}% coarse, {figures['fine']:.1f}% fine"

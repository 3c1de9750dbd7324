"""`lantm sweep`: a grid of experiments, as one piece of work that can be interrupted and goes on."""

import contextlib
import dataclasses
import json
import pathlib
import shlex
import sys
import time
from typing import Annotated, Any, Literal

import tyro
from rich.console import Console

from lantm.cli.interrupt import interruptible
from lantm.cli.parse import parse
from lantm.cli.sweep_display import SweepDisplay, summary_table
from lantm.errors import LantmError
from lantm.sweeps import Engine, Event, Group, InProcess, Point, Sweep, SweepFolder, read_sweep
from lantm.sweeps.table import point_rows, summary_rows, write_csv, write_parquet


@dataclasses.dataclass(frozen=True)
class Arguments:
    """Train and score a grid of experiments: every combination of choices, for every seed.

    The file is TOML or JSON. [experiment] has what all points share and [grid] lists of choices, both by the
    names of the flags of `lantm train` (task, model, recipe, geometry, learning_rate, epochs, cells, ...); seeds,
    scales, problems and pack stand above them:

    seeds = 8;  [experiment] recipe = "robust";  [grid] task = ["copy", "reverse"]  learning_rate = [0.01, 0.02]

    All of it is checked before anything starts. Points that differ in seed or learning rate only are trained as
    one program. Every point leaves a record in the folder; the same command does what is missing or has failed.
    docs/scaling.md has more.
    """

    file: Annotated[tyro.conf.Positional[pathlib.Path | None], tyro.conf.arg(metavar="FILE")] = None
    """The sweep file, .toml or .json."""
    out: Annotated[pathlib.Path | None, tyro.conf.arg(metavar="FOLDER")] = None
    """The sweep folder; by default runs/ and the name of the file."""
    engine: Literal["local", "ray"] = "local"
    """Where to train: in this process, or on a Ray cluster (pip install 'lantm[ray]')."""
    address: str | None = None
    """The Ray cluster to join, as "auto" or host:port; by default one is started on this machine."""
    cpus: int = 1
    """Ray: the cores of each group."""
    gpus: float | None = None
    """Ray: the GPUs of each group; by default 1 where the cluster has any."""
    minutes: float | None = None
    """Stop after so long, having saved; the same command goes on."""
    plan: bool = False
    """Check the file and say what would be trained, no more."""
    show: Annotated[pathlib.Path | None, tyro.conf.arg(metavar="FOLDER")] = None
    """Train nothing: show what there is in a sweep folder."""
    csv: Annotated[pathlib.Path | None, tyro.conf.arg(metavar="FILE")] = None
    """Also write a line a point to this file."""
    parquet: Annotated[pathlib.Path | None, tyro.conf.arg(metavar="FILE")] = None
    """The same as Parquet (pip install 'lantm[parquet]')."""
    json: bool = False
    """Print a row a point as JSON on standard output."""


def main(arguments: list[str]) -> int:
    """Runs the command."""
    chosen = parse(Arguments, "sweep", arguments)
    # With --json, standard output belongs to the result.
    console = Console(stderr=chosen.json)
    if (chosen.file is None) == (chosen.show is None):
        raise LantmError("give a sweep file, or --show FOLDER; lantm sweep --help shows what a file looks like")
    if chosen.show is not None:
        folder = SweepFolder(chosen.show)
        sweep = folder.sweep()
        _show(chosen, sweep, sweep.points(), folder)
        return 0
    for name, least in (("minutes", 0.0), ("cpus", 0), ("gpus", -1e-9)):
        value = getattr(chosen, name)
        if value is not None and not value > least:
            raise LantmError(f"{name} is {value}: give a number above 0")
    sweep = read_sweep(chosen.file)
    points = sweep.points()
    folder = SweepFolder(chosen.out or pathlib.Path("runs") / chosen.file.stem)
    engine = _engine(chosen)
    if chosen.plan:
        _say(console, _plan(points, folder.missing(points, sweep.pack)))
        return 0
    folder.check()
    with folder.locked():
        folder.begin(sweep, shlex.join(["lantm", "sweep", *arguments]))
        groups = folder.missing(points, sweep.pack)
        _say(console, f"{_plan(points, groups)}, into {folder.path}")
        stopped, failed = _work(chosen, console, engine, groups, folder)
    _show(chosen, sweep, points, folder)
    again = shlex.join(["lantm", "sweep", *arguments])
    if failed:
        _say(console, f"{failed} of {len(groups)} groups failed: the same command tries them again: {again}")
    if stopped:
        _say(console, f"stopped, and saved; go on with: {again}")
    return 130 if stopped else 1 if failed else 0


def _engine(chosen: Arguments) -> Engine:
    if chosen.engine == "ray":
        from lantm.sweeps.ray_engine import RayEngine, load_ray

        load_ray()
        return RayEngine(chosen.address, chosen.cpus, chosen.gpus)
    if chosen.address is not None:
        raise LantmError("--address is that of a Ray cluster: add --engine ray")
    return InProcess()


def _plan(points: list[Point], groups: list[Group]) -> str:
    left = sum(group.experiment.seeds for group in groups)
    return f"{len(points):,} points, {left:,} of them to be done, as {len(groups):,} programs"


def _work(
    chosen: Arguments, console: Console, engine: Engine, groups: list[Group], folder: SweepFolder
) -> tuple[bool, int]:
    """Whether it was stopped, and how many groups failed."""
    ending = None if chosen.minutes is None else time.monotonic() + 60 * chosen.minutes
    ended: dict[str, str] = {}
    with contextlib.ExitStack() as stack:
        interrupted = stack.enter_context(interruptible())
        display = stack.enter_context(SweepDisplay(console, groups))

        def tell(event: Event) -> None:
            ended[event.group.name] = event.state
            display.update(event)

        engine.run(groups, folder, tell, lambda: interrupted() or (ending is not None and time.monotonic() >= ending))
    states = [ended.get(group.name, "stopped") for group in groups]
    return "stopped" in states, states.count("failed")


def _show(chosen: Arguments, sweep: Sweep, points: list[Point], folder: SweepFolder) -> None:
    rows: list[dict[str, Any]] = point_rows(sweep, points, folder)
    for path, write in ((chosen.csv, write_csv), (chosen.parquet, write_parquet)):
        if path is not None:
            write(path, rows)
    if chosen.json:
        json.dump(rows, sys.stdout, indent=2)
        print()
        return
    console = Console()
    console.print(summary_table(sweep, summary_rows(sweep, rows)))
    for group in folder.missing(points, sweep.pack):
        if reason := folder.failure(group):
            _say(console, f"failed: {group.name}: {reason}")


def _say(console: Console, line: str) -> None:
    console.print(line, highlight=False, markup=False, soft_wrap=True)

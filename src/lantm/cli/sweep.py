"""`lantm sweep`: trains a grid of experiments from a sweep file; can be interrupted and resumed."""

import dataclasses
import pathlib
import shlex
from typing import Annotated, Any

import tyro
from rich.console import Console

from lantm.cli.grid_display import show_summary
from lantm.cli.grid_work import EngineName, check_memory, check_minutes, do_jobs, make_engine
from lantm.cli.output import print_json, program, say
from lantm.cli.parse import parse
from lantm.errors import LantmError
from lantm.files import destination
from lantm.grids import GridFolder, Group, Point, Sweep, missing, read_sweep
from lantm.grids.table import labels_of_tests, point_rows, summary_rows, write_csv, write_parquet


@dataclasses.dataclass(frozen=True)
class Arguments:
    """Train and score a grid of experiments: every combination of the given choices, for every seed.

    The file is TOML or JSON. [experiment] has the settings that all points share, and [grid] the lists of choices; both
    use the names of the flags of `lantm train` (task, model, recipe, geometry, learning_rate, epochs, cells, ...).
    seeds, scales, problems and pack are at the top level:

        seeds = 8
        [experiment]
        recipe = "robust"
        [grid]
        task = ["copy", "reverse"]
        learning_rate = [0.01, 0.02]

    The whole file is checked before anything starts. Points that differ only in seed or learning rate are trained as
    one program. Every point writes a record into the folder; rerun the command to do what is missing or has failed. See
    docs/scaling.md.
    """

    file: Annotated[tyro.conf.Positional[pathlib.Path | None], tyro.conf.arg(metavar="FILE")] = None
    """The sweep file, .toml or .json."""
    out: Annotated[pathlib.Path | None, tyro.conf.arg(metavar="FOLDER")] = None
    """The sweep folder; by default runs/NAME, after the file's name."""
    engine: EngineName = "local"
    """Where to train: in this process, or on a Ray cluster (pip install ray)."""
    address: str | None = None
    """The Ray cluster to join, as "auto" or host:port; by default one is started on this machine."""
    cpus: int = 1
    """Ray: cores per job."""
    gpus: float | None = None
    """Ray: GPUs per job; by default 1 if the cluster has any."""
    minutes: float | None = None
    """Stop and save after this many minutes; rerun to continue."""
    trust: bool = False
    """Import the modules that the file or the folder names as module:Name, which runs their code (docs/security.md)."""
    plan: bool = False
    """Only check the file and print what would be trained."""
    show: Annotated[pathlib.Path | None, tyro.conf.arg(metavar="FOLDER")] = None
    """Train nothing; show the results of a sweep folder."""
    csv: Annotated[pathlib.Path | None, tyro.conf.arg(metavar="FILE")] = None
    """Also write one line per point to this CSV file."""
    parquet: Annotated[pathlib.Path | None, tyro.conf.arg(metavar="FILE")] = None
    """Also write one row per point to this Parquet file (pip install pyarrow)."""
    json: bool = False
    """Print one row per point as JSON on standard output."""


def main(arguments: list[str]) -> int:
    """Runs the command."""
    chosen = parse(Arguments, "sweep", arguments)
    # With --json, standard output is reserved for the result.
    console = Console(stderr=chosen.json)
    if (chosen.file is None) == (chosen.show is None):
        raise LantmError("give a sweep file, or --show FOLDER; lantm sweep --help shows an example file")
    for path in filter(None, (chosen.csv, chosen.parquet)):
        destination(path)  # report its errors first
    if chosen.show is not None:
        folder = GridFolder(chosen.show)
        sweep = Sweep.from_json(folder.asked(), chosen.trust)
        _show(chosen, sweep, sweep.points(), folder)
        return 0
    check_minutes(chosen.minutes)
    sweep = read_sweep(chosen.file, chosen.trust)
    points = sweep.points()
    folder = GridFolder(chosen.out or pathlib.Path("runs") / chosen.file.stem)
    engine = make_engine(chosen.engine, chosen.address, chosen.cpus, chosen.gpus)
    folder.check()
    groups = missing(folder, points, sweep.pack)
    check_memory(groups, engine)
    if chosen.plan:
        say(console, _plan(points, groups))
        return 0
    again = f"{program()} {shlex.join(['sweep', *arguments])}"
    with folder.locked():
        folder.begin(sweep.to_json(), again)
        groups = missing(folder, points, sweep.pack)
        progress = Console(stderr=True)  # standard output has the table alone
        say(progress, f"{_plan(points, groups)}, into {folder.path}")
        outcome = do_jobs(groups, folder, engine, progress, chosen.minutes, varied=sweep.varied)
    _show(chosen, sweep, points, folder)
    if outcome.failed:
        say(console, f"{len(outcome.failed)} of {len(groups)} jobs failed; rerun to try them again: {again}")
    if outcome.stopped:
        say(console, f"stopped, and saved; rerun to continue: {again}")
    return outcome.status


def _plan(points: list[Point], groups: list[Group]) -> str:
    left = sum(group.experiment.seeds for group in groups)
    programs = "1 program" if len(groups) == 1 else f"{len(groups):,} programs"
    return f"{len(points):,} points, {left:,} of them to be trained, as {programs}"


def _show(chosen: Arguments, sweep: Sweep, points: list[Point], folder: GridFolder) -> None:
    rows: list[dict[str, Any]] = point_rows(sweep, points, folder)
    for path, write in ((chosen.csv, write_csv), (chosen.parquet, write_parquet)):
        if path is not None:
            write(path, rows)
    if chosen.json:
        print_json(rows)
        return
    console, tests = Console(), labels_of_tests(sweep, points)
    show_summary(console, sweep, summary_rows(sweep, rows, tests), tests)
    for group in missing(folder, points, sweep.pack):
        if reason := folder.failure(group.run_name):
            say(console, f"failed: {group.run_name}: {reason}")

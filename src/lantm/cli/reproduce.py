"""`lantm reproduce STUDY`: trains a table of the paper and compares every cell with the published numbers."""

import contextlib
import dataclasses
import os
import pathlib
import shlex
from typing import Annotated, Any

import tyro
from rich.console import Console

from lantm.cli import reproduce_all
from lantm.cli.grid_work import EngineName, Outcome, check_memory, check_minutes, do_jobs, make_engine
from lantm.cli.heartbeat import doing
from lantm.cli.output import print_json, program, say, show
from lantm.cli.parse import described, parse, published
from lantm.errors import LantmError, meant
from lantm.evaluation.examiner import check_problems
from lantm.files import check_folder
from lantm.grids import Cell, GridFolder, Request, from_zoo
from lantm.grids.engine import Tell
from lantm.grids.studies import STUDIES
from lantm.grids.studies.whole import ALL, SUMMARY, cells_of_all
from lantm.paper import RECIPES
from lantm.provenance import COMMIT


@dataclasses.dataclass(frozen=True)
class Arguments:
    """Reproduce a table of the paper: train, score on fresh problems, and print our scores beside the paper's.

    Each cell writes a JSON file with its configuration, all test results, commit and device. Cells that have one are
    not trained again. A cell that was interrupted (Ctrl-C, --minutes) continues from its run folder when the command is
    rerun.
    """

    study: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="STUDY")]
    """The table, or all."""
    request: Request
    from_zoo: bool = False
    """Train nothing; score the machines of the zoo."""
    again: bool = False
    """Train again what has results already; old results and run folders are moved aside."""
    engine: EngineName = "local"
    """Where to train: in this process, or on a Ray cluster (pip install ray)."""
    address: str | None = None
    """The Ray cluster to join, as "auto" or host:port; by default one is started on this machine."""
    cpus: int = 1
    """Ray: cores per cell."""
    gpus: float | None = None
    """Ray: GPUs per cell; by default 1 if the cluster has any."""
    minutes: float | None = None
    """Stop and save after this many minutes; rerun to continue."""
    out: pathlib.Path | None = None
    """Folder for results, written as STUDY/CELL.json (for all tables also reproduce-all.json with the time taken); by
    default results, or runs/quick with --quick."""
    runs: pathlib.Path = pathlib.Path("runs/reproduce")
    """Folder for trainings, as runs/NAME in it, and for summary.html, the page of all tables."""
    commit: str | None = None
    """Commit to record in results if this is not a git checkout; also LANTM_COMMIT in the environment."""
    json: bool = False
    """Print the rows as JSON on standard output."""


def main(arguments: list[str]) -> int:
    """Runs the command."""
    flat = (tyro.conf.OmitArgPrefixes, tyro.conf.DisallowNone)
    chosen = parse(Arguments, "reproduce", arguments, description=_description(), config=flat)
    whole, request = chosen.study == ALL, _asked(chosen, arguments)
    command = published("reproduce", arguments)
    cells = cells_of_all(request, command) if whole else STUDIES[chosen.study].selected(request, command)
    for cell in cells:
        cell.check()
    if chosen.commit:
        os.environ[COMMIT] = chosen.commit
    # With --json, standard output is reserved for the result.
    console = Console(stderr=chosen.json)
    if request.quick:
        say(console, "Quick version: short problems, few epochs, few seeds. Not comparable with the paper's scores.")
    if whole:
        reproduce_all.say_what_is_left_out(console, request)
    if chosen.from_zoo:
        with doing("scoring the machines of the zoo"):
            found, without = from_zoo(cells)
        if without:
            names = ", ".join(" ".join(cell.labels.values()) for cell in without)
            say(console, f"the zoo has no machine for {names}")
        status = 0
    else:
        records, outcome = _reproduced(cells, chosen, console)
        status, found = outcome.status, list(records.values())
        words = ("reproduce", *(word for word in arguments if word != "--again"))
        again = f"{program()} {shlex.join(words)}"
        if outcome.failed:
            say(console, f"{len(outcome.failed)} of {len(cells)} cells failed; rerun to try them again: {again}")
        if outcome.stopped:
            name = outcome.stopped[0].run_name
            say(console, f"stopped at {name}, and saved; rerun to continue: {again}")
        if whole:
            page = reproduce_all.write_summary(chosen.runs, _results(chosen), cells, records)
            reproduce_all.show_counts(console, cells, records)
            say(console, f"every cell beside the paper's: {page}")
    rows = [{"study": result["study"], **row} if whole else row for result in found for row in result["rows"]]
    if chosen.json:
        print_json(rows)
    elif rows and not whole:
        study = STUDIES[chosen.study]
        how = "machines of the zoo" if chosen.from_zoo else f"recipe {request.recipe}"
        how += ", a quick version" if request.quick else ""
        show(Console(), study.table(rows, f"{study.name}, {how}: ours beside the paper's", study.columns))
    return status


def _results(chosen: Arguments) -> pathlib.Path:
    return chosen.out or pathlib.Path("runs/quick" if chosen.request.quick else "results")


def _reproduced(cells: list[Cell], chosen: Arguments, console: Console) -> tuple[dict[str, Any], Outcome]:
    """The results of all cells by key: stored ones are reused, the others are trained."""
    folder, whole = GridFolder(chosen.runs, _results(chosen)), chosen.study == ALL
    for path in (folder.path, folder.records):  # check before training
        check_folder(path)
    engine = make_engine(chosen.engine, chosen.address, chosen.cpus, chosen.gpus)
    if chosen.again:
        for cell in cells:
            folder.move_aside(cell.run_name, cell.key)
    stored = _stored(cells, folder)
    missing = [cell for cell in cells if cell.key not in stored]
    for cell in missing:
        folder.check_run(cell.run_name, cell.experiment)
    if not missing:
        return stored, Outcome([], [])
    check_memory(missing, engine)
    with contextlib.ExitStack() as stack:
        stack.enter_context(folder.locked())
        folder.asked_to_stop(False)
        also: tuple[Tell, ...] = ()
        if whole:
            also = (stack.enter_context(reproduce_all.accounted(folder.records, cells, stored)),)
        outcome = do_jobs(missing, folder, engine, console, chosen.minutes, not whole, len(stored), also)
    return _stored(cells, folder), outcome


def _stored(cells: list[Cell], folder: GridFolder) -> dict[str, Any]:
    return {cell.key: record for cell in cells if (record := cell.stored(folder)) is not None}


def _description() -> str:
    """The description of the command, with one line per table."""
    tables = {study.name: study.summary for study in STUDIES.values()} | {ALL: SUMMARY}
    return described(Arguments, *(f"{name}: {summary}." for name, summary in tables.items()))


def _asked(chosen: Arguments, arguments: list[str]) -> Request:
    """The validated request."""
    request = chosen.request
    if chosen.study not in (*STUDIES, ALL):
        raise LantmError(f"unknown study {chosen.study!r}: {meant(chosen.study, [*STUDIES, ALL])}")
    if request.recipe not in RECIPES:
        raise LantmError(f"unknown recipe {request.recipe!r}: {meant(request.recipe, RECIPES)}")
    check_problems(request.problems)
    check_minutes(chosen.minutes)
    if request.quick:
        request = dataclasses.replace(request, problems=min(request.problems, 320))
    if request.data is not None:
        request = dataclasses.replace(request, data=str(pathlib.Path(request.data).resolve()))
    if chosen.study != ALL:
        return request
    for flag in ("--recipe", "--from-zoo"):
        if any(word.partition("=")[0] == flag for word in arguments):
            raise LantmError(f"{flag} applies to a single study: leave it out, or name a study instead of {ALL}")
    return dataclasses.replace(request, bare=True)

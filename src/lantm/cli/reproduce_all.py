"""`lantm reproduce all`: time accounting and summary when all tables of the paper are trained."""

import contextlib
import pathlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console

from lantm.cli.gpu_busy import GpuBusy
from lantm.cli.output import say, show
from lantm.files import read_json_object, write_whole
from lantm.grids import Cell, Event, Request
from lantm.grids.account import ACCOUNT, Account
from lantm.grids.engine import Tell
from lantm.grids.studies import STUDIES
from lantm.grids.studies.whole import QUICK, tables_of
from lantm.interrupt import saved_at_the_end
from lantm.provenance import provenance
from lantm.report import plain_table
from lantm.report.pages import SUMMARY, CellResult, TableOfCells, summary_page

Records = Mapping[str, Mapping[str, Any]]
"""The existing records, by the key of their cell."""


def say_what_is_left_out(console: Console, request: Request) -> None:
    """Says what is left out without having been excluded explicitly."""
    if request.quick:
        rows = "" if request.only else f", and of its rows {', '.join(QUICK)}"
        say(console, f"Of every table the recipe paper{rows}.")
    if request.folder is None:
        say(console, "language is left out: it needs a text, --data FOLDER (see lantm reproduce language).")


@contextlib.contextmanager
def accounted(results: pathlib.Path, cells: Sequence[Cell], stored: Records) -> Iterator[Tell]:
    """Writes the time used by cells and by the process to a results file whenever a cell ends."""
    account = Account(results / ACCOUNT, cells, [cell for cell in cells if cell.key in stored], cells[0].command)
    with GpuBusy() as busy:

        def write() -> None:
            account.write(busy.percent, busy.samples)

        def heed(event: Event) -> None:
            if account.heed(event):
                write()

        with saved_at_the_end(write):
            yield heed
        write()


def write_summary(runs: pathlib.Path, results: pathlib.Path, cells: Sequence[Cell], found: Records) -> pathlib.Path:
    """Writes the summary page into the folder of trainings; quick versions have a separate page."""
    quick = cells[0].request.quick
    tables = [
        TableOfCells(
            study,
            recipe,
            STUDIES[study].summary,
            [CellResult(list(cell.labels.values()), found.get(cell.key)) for cell in alike],
        )
        for (study, recipe), alike in tables_of(cells).items()
    ]
    path = runs / (f"{pathlib.Path(SUMMARY).stem}-quick.html" if quick else SUMMARY)
    write_whole(path, summary_page(tables, _facts(results, cells, found), quick).encode())
    return path


def show_counts(console: Console, cells: Sequence[Cell], found: Records) -> None:
    """One line per table: the number of finished cells, and of scores that are at least the paper's."""
    table = plain_table("all tables of the paper")
    for name in ("study", "recipe"):
        table.add_column(name, no_wrap=True)
    for name in ("cells done", "at least the paper's", "minutes"):
        table.add_column(name, justify="right")
    for (study, recipe), alike in tables_of(cells).items():
        records = [found[cell.key] for cell in alike if cell.key in found]
        verdicts = [row["pass"] for record in records for row in record["rows"] if row["pass"] is not None]
        seconds = sum(record["training_seconds"] + record["scoring_seconds"] for record in records)
        done, passed = f"{len(records)} of {len(alike)}", f"{sum(verdicts)} of {len(verdicts)}" if verdicts else ""
        table.add_row(study, recipe, done, passed, f"{seconds / 60:.1f}")
    show(console, table)


def _facts(results: pathlib.Path, cells: Sequence[Cell], found: Records) -> dict[str, Any]:
    """The provenance shown on the page; the results need not come from this process."""
    facts: dict[str, Any] = {"command": cells[0].command}
    with contextlib.suppress(FileNotFoundError):  # everything was stored before
        account = read_json_object(results / ACCOUNT)
        facts["time"] = f"{account['total_seconds'] / 60:.1f} min"
        busy = account["gpu_busy_percent"]
        facts["GPU busy"] = None if busy is None else f"{busy:.0f}% of it"
    origins = [record["trained"] for record in found.values()]
    for name, key in (("trained on", "device"), ("at commit", "commit"), ("by lantm", "lantm")):
        values = sorted({str(origin[key]) for origin in origins if origin.get(key)})
        facts[name] = f"{len(values)} different ones" if len(values) > 3 else "; ".join(values) or None
    return facts | {"page written": provenance()["date"]}

"""`lantm report`: writes the HTML report of a run (`report/pages/run_report.py`)."""

import dataclasses
import pathlib
import webbrowser
from typing import Annotated

import tyro

from lantm.cli.opening import open_run
from lantm.cli.output import print_json, working
from lantm.cli.parse import parse
from lantm.cli.printable import printable
from lantm.report.pages import write_report


@dataclasses.dataclass(frozen=True)
class Arguments:
    """Write report.html into a run folder: the results of the run on one self-contained page.

    Scores with confidence intervals, scores by length, learning curves of all seeds, the best and the worst machine at
    work with a diagnosis, and all settings. Training writes the page when it is complete; this command rewrites it, or
    writes it early.
    """

    run: Annotated[tyro.conf.Positional[pathlib.Path], tyro.conf.arg(metavar="RUN")]
    """The run folder."""
    data: Annotated[pathlib.Path | None, tyro.conf.arg(metavar="FOLDER")] = None
    """The folder of the text, if it has moved."""
    trust: bool = False
    """Import the modules that RUN names as module:Name, which runs their code (docs/security.md)."""
    open: bool = False
    """Open the page in the browser."""
    json: bool = False
    """Print JSON on standard output: the page and its size."""


def main(arguments: list[str]) -> int:
    """Runs the command."""
    chosen = parse(Arguments, "report", arguments)
    trained = open_run(chosen.run, chosen.data, chosen.trust)
    with working("scoring at many lengths"):
        page = write_report(trained)
    size = page.stat().st_size
    if chosen.json:
        print_json({"page": str(page), "bytes": size})
    else:
        print(printable(f"wrote {page} ({size / 1e6:.2f} MB): open it in a browser"))
    if chosen.open:
        webbrowser.open(page.resolve().as_uri())
    return 0

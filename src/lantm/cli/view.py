"""`lantm view`: writes an HTML page in which machines can be inspected step by step."""

import dataclasses
import pathlib
import webbrowser
from collections.abc import Sequence
from typing import Annotated

import tyro

from lantm.cli.opening import open_trained
from lantm.cli.output import print_json, working
from lantm.cli.parse import parse
from lantm.cli.printable import printable
from lantm.errors import LantmError
from lantm.evaluation.examiner import check_draw
from lantm.files import check_links, destination, utf8, write_whole
from lantm.report.pages import play_page
from lantm.report.pages.training import recorded_training
from lantm.report.pages.viewer import (
    Machine,
    exhibit,
    sampled_problems,
    usual_lengths,
    viewer_page,
    written_problem,
)
from lantm.trained import Trained, Which

_MOST_SEEDS = 8  # per page, unless more are requested


@dataclasses.dataclass(frozen=True)
class Arguments:
    """Write a self-contained HTML page in which machines run.

    Type a problem and see, step by step, where the heads go, the gates, the strengths and the read weights, with every
    symbol of the input and the answer; drag a head to another place. Two runs, or two seeds, are shown side by side.
    """

    run: Annotated[tyro.conf.Positional[str | None], tyro.conf.arg(metavar="RUN")] = None
    """A run folder, a machine file, or a machine of the zoo (a task's name or a name from `lantm zoo`)."""
    other: Annotated[tyro.conf.Positional[str | None], tyro.conf.arg(metavar="[OTHER_RUN]")] = None
    """Another one to show beside it."""
    zoo: bool = False
    """Show machines of the zoo, at least one per task, in a page of up to 2 MB: play.html."""
    seeds: tuple[int, ...] = ()
    """Seeds to include; by default the one with the best test and seven more. The first two are shown side by side."""
    lengths: tuple[int, ...] = ()
    """Lengths of the problems; by default 8, the longest training length, and two and four times that."""
    input: str | None = None
    """A problem as for lantm solve, instead of random ones."""
    weights: Which = "best"
    """Use the weights with the best periodic test, or the last ones."""
    epochs: int = 60
    """Number of recorded epochs to include, evenly spaced; 0 for none."""
    draw: int = 0
    """Random draw of the problems; each number gives different ones."""
    data: Annotated[pathlib.Path | None, tyro.conf.arg(metavar="FOLDER")] = None
    """The folder of the text, if it has moved."""
    trust: bool = False
    """Import the modules that RUN names as module:Name, which runs their code (docs/security.md)."""
    out: pathlib.Path | None = None
    """The page to write; by default view.html in the run folder, or in the current folder for a machine of the zoo."""
    open: bool = False
    """Open it in the browser."""
    json: bool = False
    """Print JSON on standard output: the page, its size and its contents."""


def main(arguments: list[str]) -> int:
    """Runs the command."""
    chosen = parse(Arguments, "view", arguments)
    if chosen.lengths and chosen.input is not None:
        raise LantmError("--input has its own length: leave out --lengths")
    if chosen.epochs < 0:
        raise LantmError(f"epochs is {chosen.epochs}: give a whole number of at least 0")
    check_draw(chosen.draw)
    if chosen.out:
        destination(chosen.out)  # report its errors first
    elif chosen.run is not None:
        check_links(pathlib.Path(chosen.run))
    if chosen.zoo == (chosen.run is not None):
        raise LantmError("give a run folder or a machine of the zoo, or --zoo for a page of the whole zoo")
    if chosen.zoo:
        with working("running the machines of the zoo"):
            play = play_page()
        if not chosen.json and play.left_out:
            print(f"left out to limit the size: {', '.join(play.left_out)}")
        return _write(chosen, play.page, chosen.out or pathlib.Path("play.html"), play.shown)
    assert chosen.run is not None
    sources = [open_trained(chosen.run, chosen.data, chosen.trust)]
    if chosen.other is not None:
        try:
            sources.append(open_trained(chosen.other, chosen.data, chosen.trust))
        except LantmError as error:  # lantm solve takes its problem in this place
            problem = "" if pathlib.Path(chosen.other).exists() else "; a problem of yours goes behind --input"
            raise LantmError(f"{error}{problem}") from error
    groups = [_machines(source, chosen, named=len(sources) > 1) for source in sources]
    machines = [machine for group in groups for machine in group]
    second = len(groups[0]) if len(groups) > 1 else 1
    side_by_side = [0, second] if len(groups) > 1 or len(chosen.seeds) > 1 else [0]
    described = [f"{one.model} on {one.task}, recipe {one.recipe_name}" for one in (s.experiment for s in sources)]
    about = "; ".join(dict.fromkeys(described))
    title = " and ".join(map(_name, sources))
    with working("running the machines"):
        exhibits = [exhibit(machine) for machine in machines]
    text = viewer_page(title, about, exhibits, side_by_side, _first_problem(machines[0]))
    folder = pathlib.Path(chosen.run)
    return _write(chosen, text, chosen.out or (folder if folder.is_dir() else pathlib.Path()) / "view.html", machines)


def _write(chosen: Arguments, text: str, page: pathlib.Path, machines: Sequence[Machine]) -> int:
    """Writes the page and prints its contents."""
    content = utf8(text)
    write_whole(page, content)
    if chosen.json:
        shown = [{"machine": one.name, "problems": [problem.name for problem in one.problems]} for one in machines]
        print_json({"page": str(page), "bytes": len(content), "machines": shown})
    else:
        print(printable(f"wrote {page} ({len(content) / 1e6:.2f} MB): open it in a browser"))
    if chosen.open:
        webbrowser.open(page.resolve().as_uri())
    return 0


def _name(source: Trained) -> str:
    """The name of a run on the page."""
    return pathlib.Path(source.name).resolve().name


def _machines(source: Trained, chosen: Arguments, named: bool) -> list[Machine]:
    """The requested machines, by default the best first."""
    task = source.source
    if chosen.input is not None:
        problems = [written_problem(task, chosen.input)]
    else:
        problems = sampled_problems(task, chosen.lengths or usual_lengths(task), chosen.draw)
    by_rank = sorted(source.seeds, key=lambda seed: seed != source.seeds[source.index()])
    run = f"{_name(source)}, " if named else ""
    return [
        Machine(
            f"{run}seed {seed}",
            task,
            source.model(seed, chosen.weights),
            problems,
            recorded_training(source, seed, chosen.epochs),
        )
        for seed in chosen.seeds or by_rank[:_MOST_SEEDS]
    ]


def _first_problem(machine: Machine) -> int:
    """The problem to show first: the longest training length, if it is among them."""
    names = [problem.name for problem in machine.problems]
    trained = f"length {machine.task.train_lengths.largest}"
    return names.index(trained) if trained in names else 0

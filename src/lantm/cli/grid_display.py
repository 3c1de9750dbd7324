"""The display of a grid: a live table of its jobs, and the results of a sweep."""

import time
from collections.abc import Mapping, Sequence
from datetime import timedelta
from types import TracebackType
from typing import Any

from rich import box
from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from lantm.cli.output import say
from lantm.cli.progress import TestLines
from lantm.grids import Event, Job, Sweep
from lantm.report import plain_table

_QUIET = 30.0  # seconds without a line, in a file or a pipe
_ROWS = 16  # at most; running jobs come first
_ORDER = ("running", "failed", "stopped", "waiting", "done")
_STYLES = {"running": "cyan", "failed": "red", "stopped": "yellow", "waiting": "dim", "done": "green"}


class GridDisplay:
    """A live table on a terminal; in a file or a pipe, a line for each job that begins or ends, and now and then."""

    def __init__(self, console: Console, jobs: Sequence[Job], detailed: bool = False):
        """Nothing is shown before it is entered; `detailed` also shows a line for every test of a training."""
        self._console = console
        self._states = {job.run_name: Event(job, "waiting") for job in jobs}
        self._lines = {job.run_name: TestLines(job.experiment) for job in jobs if detailed}
        self._first: dict[str, int] = {}  # the epoch of a job at its first event
        self._began = self._said = time.monotonic()
        self._live = Live(console=console, transient=True, refresh_per_second=2, get_renderable=self.table)
        self._shown = console.is_terminal and bool(jobs)

    def __enter__(self) -> "GridDisplay":
        if self._shown:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown:
            self._live.stop()

    def update(self, event: Event) -> None:
        """Shows an event."""
        name = event.job.run_name
        before = self._states[name].state
        self._first.setdefault(name, event.epoch if event.state == "running" else 0)
        self._states[name] = event
        if event.progress is not None and name in self._lines:
            for line in self._lines[name].of(event.progress):
                self._say(line)
        if event.message or event.state != before:
            message = f": {event.message}" if event.message else ""
            seconds = int(self.left())
            left = f" (about {timedelta(seconds=seconds)} left)" if event.state == "done" and seconds else ""
            count = sum(one.state == "done" for one in self._states.values())
            counted = f"[{count}/{len(self._states)}]"
            self._say(f"{event.state:<8}{name}, {describe(event.job)}{message} {counted}{left}")
        elif not self._shown and event.state == "running" and time.monotonic() - self._said > _QUIET:
            left = f" (about {timedelta(seconds=int(self.left()))} left)" if self.left() else ""
            self._say(f"running {name}: epoch {event.epoch} of {event.job.experiment.recipe.epochs}{left}")

    def _say(self, line: str) -> None:
        self._said = time.monotonic()
        say(self._console, line)

    def left(self) -> float:
        """Estimated seconds left, at the speed since the start."""
        done = todo = 0.0
        for name, event in self._states.items():
            epochs, problems = event.job.experiment.recipe.epochs, event.job.problems
            share = {"waiting": 0.0, "running": event.epoch / epochs, "stopped": event.epoch / epochs}.get(
                event.state, 1.0
            )
            if event.state != "failed":
                done += problems * max(0.0, share - self._first.get(name, 0) / epochs)
            todo += problems * (1 - share)
        return todo * (time.monotonic() - self._began) / done if done else 0.0

    def table(self) -> Table:
        """The jobs, running ones first, with the number in each state."""
        events = sorted(self._states.values(), key=lambda event: _ORDER.index(event.state))
        counts = {state: sum(event.state == state for event in events) for state in _ORDER}
        title = ", ".join(f"{count} {state}" for state, count in counts.items() if count)
        left = f", about {timedelta(seconds=int(self.left()))} left" if self.left() else ""
        table = Table(title=Text(title + left), title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
        for name in ("job", "what", "machines", "epoch", "state"):
            table.add_column(name, no_wrap=name != "what", justify="right" if name in ("machines", "epoch") else "left")
        for event in events[:_ROWS]:
            experiment = event.job.experiment
            table.add_row(
                Text(event.job.run_name[-12:]),
                Text(describe(event.job)),
                str(experiment.seeds),
                f"{event.epoch}/{experiment.recipe.epochs}",
                Text(event.state, style=_STYLES[event.state]),
            )
        if len(events) > _ROWS:
            table.add_row(Text("..."), Text(f"and {len(events) - _ROWS} more"))
        return table


def describe(job: Job) -> str:
    """A job in a few words."""
    experiment = job.experiment
    place = getattr(experiment.machine, "geometry", "")
    return " ".join(filter(None, (experiment.task, experiment.model, place, experiment.recipe_name)))


def show_summary(
    console: Console, sweep: Sweep, rows: Sequence[dict[str, Any]], tests: Mapping[str, Sequence[str]]
) -> None:
    """A line per combination, over its seeds; where all tests beside each other are too wide, a table for each."""
    together = _summary_table(sweep, rows, tests)
    unlimited = console.options.update(max_width=1000)
    fits = console.measure(together, options=unlimited).minimum <= console.width
    for table in [together] if fits else [_summary_table(sweep, rows, {label: tests[label]}) for label in tests]:
        console.print(table)


def _summary_table(sweep: Sweep, rows: Sequence[dict[str, Any]], tests: Mapping[str, Sequence[str]]) -> Table:
    table = plain_table("percent of whole answers right, or perplexities, of the best weights; solved: seeds at 99%")
    # Settings that are the same in all lines are left out.
    given = ("task", "model", *sweep.varied)
    labels = [name for name in rows[0] if name == "task" or (name in given and len({row[name] for row in rows}) > 1)]
    for name in labels:
        table.add_column(name.replace("_", " "))
    columns = {
        label: ("best", "median", *(["solved"] if "coarse" in figures else [])) for label, figures in tests.items()
    }
    for name in ("done", *(f"{label}\n{kind}" for label, kinds in columns.items() for kind in kinds)):
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        cells = [Text(str(row[name])) for name in labels]
        cells.append(
            Text(f"{row['done']}/{row['seeds']}" + (f", {row['diverged']} diverged" if row["diverged"] else ""))
        )
        for label, kinds in columns.items():
            unit = "%" if "solved" in kinds else ""
            cells += [Text(_shown(row[f"{kind}_{label}"], unit)) for kind in ("best", "median")]
            cells += [Text(f"{row[f'solved_{label}']}/{row['done']}")] if "solved" in kinds else []
        table.add_row(*cells)
    return table


def _shown(figure: float | None, unit: str) -> str:
    return "" if figure is None else f"{figure:.1f}{unit}"

"""Live table of the jobs of a grid, and the result tables of a sweep."""

import contextlib
import time
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from rich import box
from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from lantm.cli.heartbeat import doing
from lantm.cli.output import say
from lantm.cli.progress import TestLines
from lantm.cli.time_left import Work, seconds_left
from lantm.grids import Cell, Event, Group, Job, Sweep
from lantm.paper import settings_of
from lantm.report import plain_table

_QUIET = 30.0  # seconds between progress lines in a file or a pipe
_ROWS = 16  # maximum; running jobs come first
_DESCRIBED = ("task", "model", "geometry", "recipe")  # settings that `describe` shows
_ORDER = ("running", "failed", "stopped", "waiting", "done")
_STYLES = {"running": "cyan", "failed": "red", "stopped": "yellow", "waiting": "dim", "done": "green"}


class GridDisplay:
    """A live table on a terminal; in a file or a pipe, lines when jobs begin and end, and occasional progress."""

    def __init__(
        self, console: Console, jobs: Sequence[Job], detailed: bool = False, done: int = 0, varied: Sequence[str] = ()
    ):
        """Displays nothing before it is entered.

        `detailed` also shows a line for every test of a training. `done` is the number of jobs completed before.
        `varied` are the settings in which the jobs differ.
        """
        self._varied = [name for name in varied if name not in _DESCRIBED]
        self._console = console
        self._going_on = contextlib.ExitStack()
        self._states = {job.key: Event(job, "waiting") for job in jobs}
        self._lines = {job.key: TestLines(job.experiment) for job in jobs if detailed}
        self._done = done
        # Times of each job's first event, first progress report (with the share done by then), and last event.
        self._started: dict[str, float] = {}
        self._first: dict[str, tuple[float, float]] = {}
        self._last: dict[str, float] = {}
        self._began = self._said = time.monotonic()
        self._live = Live(console=console, transient=True, refresh_per_second=2, get_renderable=self.table)
        self._shown = console.is_terminal and bool(jobs)

    def __enter__(self) -> "GridDisplay":
        self._going_on.enter_context(doing(self.in_words))
        if self._shown:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._shown:
            self._live.stop()
        self._going_on.close()

    def in_words(self) -> str:
        """The number of jobs in each state, and the epochs of those that run."""
        running = [event for event in self._states.values() if event.state == "running"]
        epochs = (f"epoch {event.epoch} of {event.job.experiment.recipe.epochs}" for event in running[:1])
        return ", ".join((self._counted(), *epochs))

    def _counted(self) -> str:
        states: list[str] = [event.state for event in self._states.values()]
        counts = {state: states.count(state) for state in _ORDER}
        counts["done"] += self._done
        return ", ".join(f"{count} {state}" for state, count in counts.items() if count)

    def update(self, event: Event) -> None:
        """Shows an event."""
        key, name = event.job.key, event.job.run_name
        before = self._states[key].state
        now = self._last[key] = time.monotonic()
        if key not in self._started:
            # On another computer, a job may be done before its first event arrives.
            share, self._started[key] = (_share(event), now) if event.state == "running" else (0.0, self._began)
            self._first[key] = share, self._started[key]
        elif event.progress is not None and self._first[key][1] == self._started[key]:
            self._first[key] = _share(event), now
        self._states[key] = event
        if event.progress is not None and key in self._lines:
            for line in self._lines[key].of(event.progress):
                self._say(line)
        if event.message or event.state != before:
            message = f": {event.message}" if event.message else ""
            seconds = int(self.left())
            left = f" (about {timedelta(seconds=seconds)} left)" if event.state == "done" and seconds else ""
            count = self._done + sum(one.state == "done" for one in self._states.values())
            counted = f"[{count}/{self._done + len(self._states)}]"
            self._say(f"{event.state:<8}{name}, {self._described(event.job)}{message} {counted}{left}")
        elif not self._shown and event.state == "running" and time.monotonic() - self._said > _QUIET:
            left = f" (about {timedelta(seconds=int(self.left()))} left)" if self.left() else ""
            self._say(f"running {name}: epoch {event.epoch} of {event.job.experiment.recipe.epochs}{left}")

    def _described(self, job: Job) -> str:
        """A short description of a job, with its study if there are several, and its values of varied settings."""
        studies = {_study(event.job) for event in self._states.values()}
        words = " ".join(filter(None, (_study(job) if len(studies) > 1 else "", describe(job))))
        return ", ".join((words, *(f"{name} {_values(job, name)}" for name in self._varied)))

    def _say(self, line: str) -> None:
        self._said = time.monotonic()
        say(self._console, line)

    def left(self) -> float:
        """Estimated seconds left at the speed so far; a training shared by several jobs counts once."""
        now, works = time.monotonic(), []
        trainings: set[str] = set()
        for key, event in self._states.items():
            if event.state == "failed":
                continue
            started = self._started.get(key, now)
            until = now if event.state == "running" else self._last.get(key, now)
            before, began = self._first.get(key, (0.0, now))
            shared = event.job.run_name in trainings
            trainings.add(event.job.run_name)
            problems = 0 if shared else event.job.problems
            works.append(Work(_kind(event.job), problems, before, _share(event), until - began, began - started))
        return seconds_left(works, now - self._began)

    def table(self) -> Table:
        """The jobs, running ones first, and the number in each state."""
        events = sorted(self._states.values(), key=lambda event: _ORDER.index(event.state))
        left = f", about {timedelta(seconds=int(self.left()))} left" if self.left() else ""
        table = Table(
            title=Text(self._counted() + left), title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0)
        )
        for name in ("job", "what", "machines", "epoch", "state"):
            table.add_column(name, no_wrap=name != "what", justify="right" if name in ("machines", "epoch") else "left")
        for event in events[:_ROWS]:
            experiment = event.job.experiment
            table.add_row(
                Text(event.job.run_name[-12:]),
                Text(self._described(event.job)),
                str(experiment.seeds),
                f"{event.epoch}/{experiment.recipe.epochs}",
                Text(event.state, style=_STYLES[event.state]),
            )
        if len(events) > _ROWS:
            table.add_row(Text("..."), Text(f"and {len(events) - _ROWS} more"))
        return table


def _share(event: Event) -> float:
    """The fraction of a job's training that is done."""
    if event.state in ("done", "waiting"):
        return float(event.state == "done")
    epoch, progress = float(event.epoch), event.progress
    if progress is not None:  # within the current epoch
        epoch += progress.batch / progress.batches - 1
    return epoch / event.job.experiment.recipe.epochs


def _values(job: Job, name: str) -> str:
    """The values of a setting among the points of a job."""
    points = [point.experiment for point in job.points] if isinstance(job, Group) else [job.experiment]
    return " ".join(dict.fromkeys(str(settings_of(point).get(name)) for point in points))


def _study(job: Job) -> str:
    return job.study if isinstance(job, Cell) else ""


def _kind(job: Job) -> tuple[str, ...]:
    return job.experiment.model, job.experiment.recipe_name, job.experiment.task


def describe(job: Job) -> str:
    """A short description of a job."""
    experiment = job.experiment
    place = getattr(experiment.machine, "geometry", "")
    return " ".join(filter(None, (experiment.task, experiment.model, place, experiment.recipe_name)))


def show_summary(
    console: Console, sweep: Sweep, rows: Sequence[dict[str, Any]], tests: Mapping[str, Sequence[str]]
) -> None:
    """One line per combination, over its seeds; one table per test if they are too wide together."""
    together = _summary_table(sweep, rows, tests)
    unlimited = console.options.update(max_width=1000)
    fits = console.measure(together, options=unlimited).minimum <= console.width
    for table in [together] if fits else [_summary_table(sweep, rows, {label: tests[label]}) for label in tests]:
        console.print(table)


def _summary_table(sweep: Sweep, rows: Sequence[dict[str, Any]], tests: Mapping[str, Sequence[str]]) -> Table:
    table = plain_table("percent of whole answers right, or perplexities, of the best weights; solved: seeds at 99%")
    # Settings with the same value in all lines are left out.
    given = ("task", "model", *sweep.varied)
    labels = [name for name in rows[0] if name == "task" or (name in given and len({row[name] for row in rows}) > 1)]
    for name in labels:
        table.add_column(name.replace("_", " "), overflow="fold")  # whole, in more lines if the terminal is narrow
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

"""What a person sees of a sweep: a live table of its groups, and what it has come to."""

import time
from collections.abc import Sequence
from datetime import timedelta
from types import TracebackType
from typing import Any

from rich import box
from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from lantm.sweeps import Event, Group, Sweep

_ROWS = 16  # of groups at most: what runs comes first
_ORDER = ("running", "failed", "stopped", "waiting", "done")
_STYLES = {"running": "cyan", "failed": "red", "stopped": "yellow", "waiting": "dim", "done": "green"}


class SweepDisplay:
    """A live table on a terminal; in a file or a pipe, a line for each group that begins or ends."""

    def __init__(self, console: Console, groups: Sequence[Group]):
        """Nothing is shown before it is entered."""
        self._console = console
        self._states = {group.name: Event(group, "waiting") for group in groups}
        self._first: dict[str, int] = {}  # the epoch a group was at when it was first heard of
        self._began = time.monotonic()
        self._live = Live(console=console, transient=True, refresh_per_second=2, get_renderable=self.table)
        self._shown = console.is_terminal and bool(groups)

    def __enter__(self) -> "SweepDisplay":
        if self._shown:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown:
            self._live.stop()

    def update(self, event: Event) -> None:
        """Shows what happened."""
        name = event.group.name
        before = self._states[name].state
        self._first.setdefault(name, event.epoch if event.state == "running" else 0)
        self._states[name] = event
        if event.said or event.state != before:
            said = f": {event.said}" if event.said else ""
            left = f" (about {timedelta(seconds=int(self.left()))} left)" if event.state == "done" else ""
            count = sum(one.state == "done" for one in self._states.values())
            self._say(f"{event.state:<8}{name}, {describe(event.group)}{said} [{count}/{len(self._states)}]{left}")

    def left(self) -> float:
        """Seconds left, if the rest goes as fast as what was trained since the start."""
        done = todo = 0.0
        for name, event in self._states.items():
            epochs, problems = event.group.experiment.recipe.epochs, event.group.problems
            share = {"waiting": 0.0, "running": event.epoch / epochs, "stopped": event.epoch / epochs}.get(
                event.state, 1.0
            )
            if event.state != "failed":
                done += problems * max(0.0, share - self._first.get(name, 0) / epochs)
            todo += problems * (1 - share)
        return todo * (time.monotonic() - self._began) / done if done else 0.0

    def table(self) -> Table:
        """The groups, those that run first, with how many there are of each kind."""
        events = sorted(self._states.values(), key=lambda event: _ORDER.index(event.state))
        counts = {state: sum(event.state == state for event in events) for state in _ORDER}
        title = ", ".join(f"{count} {state}" for state, count in counts.items() if count)
        left = f", about {timedelta(seconds=int(self.left()))} left" if self.left() else ""
        table = Table(title=Text(title + left), title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
        for name in ("group", "what", "machines", "epoch", "state"):
            table.add_column(name, no_wrap=name != "what", justify="right" if name in ("machines", "epoch") else "left")
        for event in events[:_ROWS]:
            experiment = event.group.experiment
            table.add_row(
                Text(event.group.name[-12:]),
                Text(describe(event.group)),
                str(experiment.seeds),
                f"{event.epoch}/{experiment.recipe.epochs}",
                Text(event.state, style=_STYLES[event.state]),
            )
        if len(events) > _ROWS:
            table.add_row(Text("..."), Text(f"and {len(events) - _ROWS} more"))
        return table

    def _say(self, line: str) -> None:
        self._console.print(line, highlight=False, markup=False, soft_wrap=True)


def describe(group: Group) -> str:
    """A group in a few words."""
    experiment = group.experiment
    place = getattr(experiment.machine, "geometry", "")
    return " ".join(filter(None, (experiment.task, experiment.model, place, experiment.recipe_name)))


def summary_table(sweep: Sweep, rows: Sequence[dict[str, Any]]) -> Table:
    """A line a combination, over its seeds."""
    table = Table(
        title=Text("coarse scores of the best weights, on fresh problems; solved: seeds at 99%"),
        title_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    # What is the same in all lines is left out.
    given = ("task", "model", *sweep.varied)
    labels = [name for name in rows[0] if name == "task" or (name in given and len({row[name] for row in rows}) > 1)]
    for name in labels:
        table.add_column(name.replace("_", " "))
    for name in ("done", *(f"{scale}x\n{kind}" for scale in sweep.scales for kind in ("best", "median", "solved"))):
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        cells = [Text(str(row[name])) for name in labels]
        cells.append(
            Text(f"{row['done']}/{row['seeds']}" + (f", {row['diverged']} diverged" if row["diverged"] else ""))
        )
        for scale in sweep.scales:
            cells += [Text(_percent(row[f"{kind}_{scale}x"])) for kind in ("best", "median")]
            cells.append(Text(f"{row[f'solved_{scale}x']}/{row['done']}"))
        table.add_row(*cells)
    return table


def _percent(score: float | None) -> str:
    return "" if score is None else f"{score:.1f}%"

"""Output of all commands: lines and live displays for people, JSON for scripts."""

import contextlib
import json
import os
import pathlib
import shlex
import shutil
import sys
from collections.abc import Iterator
from typing import Any, TypeVar

from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn, TimeRemainingColumn

from lantm.cli.heartbeat import doing
from lantm.cli.printable import printable

AnyDisplay = TypeVar("AnyDisplay", bound="Display")


def say(console: Console, line: str, style: str | None = None) -> None:
    """Prints a line as it is, but for line breaks and control characters."""
    console.print(printable(line), style=style, highlight=False, markup=False, emoji=False, soft_wrap=True)


def show(console: Console, table: RenderableType) -> None:
    """Prints a table. Where a narrow terminal would cut figures off, lines are longer than it, and it wraps them."""
    lines = "".join(segment.text for segment in console.render(table)).splitlines()
    if any("…" in line or len(line) > console.width for line in lines):
        whole = console.measure(table, options=console.options.update(max_width=1000)).maximum
        console = Console(file=console.file, force_terminal=console.is_terminal, width=whole)
    console.print(table)


@contextlib.contextmanager
def working(what: str, console: Console | None = None) -> Iterator[None]:
    """Shows a status line on a terminal while entered; in a file or a pipe, prints a line if it takes long."""
    with doing(what), (console or Console(stderr=True)).status(what):
        yield


def program() -> str:
    """The command to type for `lantm`: its name if it is on the path, otherwise how this process was started."""
    if shutil.which("lantm"):
        return "lantm"
    started = pathlib.Path(sys.argv[0])
    if started.name != "lantm":
        return f"{pathlib.Path(sys.executable).name} -m lantm"
    return shlex.quote(os.path.relpath(started))


def print_json(value: Any) -> None:
    """Prints JSON on standard output."""
    json.dump(value, sys.stdout, indent=2)
    print()


class Display:
    """A live line on a terminal while entered, and permanent lines; in a file or a pipe, only the latter."""

    def __init__(self, console: Console, *columns: ProgressColumn, total: int | None = None, **fields: Any):
        """`columns` are shown before the bar, the field `status` after it."""
        self._console = console
        self._going_on = contextlib.ExitStack()
        self._progress = Progress(
            *columns,
            BarColumn(bar_width=14),
            TextColumn("{task.fields[status]}"),
            TimeRemainingColumn(compact=True),
            console=console,
            disable=not console.is_terminal,
            transient=True,
        )
        self._bar = self._progress.add_task("training", total=total, **fields, status="compiling")

    def __enter__(self: AnyDisplay) -> AnyDisplay:
        self._going_on.enter_context(doing(self.in_words))
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()
        self._going_on.close()

    def in_words(self) -> str:
        """The state of the progress bar in words."""
        bar = self._progress.tasks[0]
        done = f"{bar.percentage:.0f}%" if bar.total and bar.completed else ""
        return ", ".join(filter(None, map(str, (*bar.fields.values(), done))))

    def warn(self, warning: str) -> None:
        """Prints a warning."""
        self.say(f"warning: {warning}")

    def say(self, line: str) -> None:
        """Prints a permanent line."""
        say(self._console, line)

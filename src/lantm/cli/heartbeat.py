"""Prints a line on standard error when a command has printed nothing for a while.

On a terminal a live line shows progress. A file or a pipe has no live line, and compiling, reading a file or writing a
page prints nothing. A thread therefore watches the output and reports the current activity after a silence.
"""

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

AT_FIRST, SILENCE = 2.0, 5.0
"""Seconds of silence before a new activity is reported, and between further reports."""
_LISTENING = 0.2


class _Said:
    """The current activities (the last one is reported), and when the next report is due."""

    def __init__(self) -> None:
        self.doing: list[Callable[[], str]] = []
        self.due = self.began = time.monotonic()


_said = _Said()


@contextlib.contextmanager
def doing(what: str | Callable[[], str]) -> Iterator[None]:
    """Registers an activity, in a few words, while entered; an empty text is not reported."""
    named = (lambda: what) if isinstance(what, str) else what
    _said.doing.append(named)
    _said.due = min(_said.due, time.monotonic() + AT_FIRST)
    try:
        yield
    finally:
        _said.doing.remove(named)


@contextlib.contextmanager
def never_silent(what: str) -> Iterator[None]:
    """Reports long activities repeatedly while entered; `what` is reported if none is registered."""
    _said.began = time.monotonic()
    _said.due = _said.began + SILENCE
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (_Heard(stream) for stream in before)
    ended = threading.Event()
    threading.Thread(target=_speak, args=(ended, what), daemon=True).start()
    try:
        yield
    finally:
        ended.set()
        sys.stdout, sys.stderr = before


def _speak(ended: threading.Event, what: str) -> None:
    while not ended.wait(_LISTENING):
        if time.monotonic() < _said.due:
            continue
        _said.due = time.monotonic() + SILENCE  # also if there is nothing to report
        if words := (_said.doing or [lambda: what])[-1]():
            try:
                sys.stderr.write(f"lantm: {words}, {time.monotonic() - _said.began:.0f} s since the start\n")
                sys.stderr.flush()
            except (OSError, ValueError):
                return  # standard error is closed


class _Heard:
    """A stream wrapper that notes when something was last written."""

    def __init__(self, stream: Any):
        self._stream = stream

    def write(self, text: str) -> int:
        _said.due = time.monotonic() + SILENCE
        return int(self._stream.write(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

"""Ctrl-C and SIGTERM: long-running code polls for them, and a watchdog thread ends a process that does not react.

Python runs its signal handlers between two of its own instructions. In the middle of a compilation, an allocation or a
long computation there are none, sometimes for minutes. So a process of ours has a thread that hears of the signal at
once. If the main thread has not ended the command soon after, that thread saves what there is and ends the process.
"""

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

GRACE = 1.4
"""Seconds from the signal until the process is ended, for which the main thread may save and say goodbye itself."""
_GRACE_OF_THE_SECOND = 0.2

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_STATUS = 130  # as shells have it for what Ctrl-C ended


class _Ending:
    """What is done if the main thread does not end by itself."""

    def __init__(self) -> None:
        self.grace = GRACE
        self.savers: list[Callable[[], object]] = []
        self.afterwards = ""


_ending = _Ending()


@contextlib.contextmanager
def interruptible(
    message: str = "finishing the current step and saving (once more to stop at once)", afterwards: str = ""
) -> Iterator[Callable[[], bool]]:
    """Turns Ctrl-C and SIGTERM into a question that a loop asks when it can stop; the second one stops at once.

    `afterwards` says how to continue, if it is not the loop that stops but the process (`ended_soon`). Signals reach
    the main thread only: elsewhere the answer is always no.
    """
    asked = False

    def ask(number: int, frame: FrameType | None) -> None:
        nonlocal asked
        if asked:
            raise KeyboardInterrupt
        asked = True
        print(f"\n{message}", file=sys.stderr)

    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    before = {number: signal.signal(number, ask) for number in _SIGNALS}
    _ending.afterwards, said_before = afterwards, _ending.afterwards
    try:
        yield lambda: asked
    finally:
        _ending.afterwards = said_before
        _put_back(before)


@contextlib.contextmanager
def saved_at_the_end(save: Callable[[], object]) -> Iterator[None]:
    """Within, `save` is called by another thread before it ends a process that cannot stop by itself."""
    _ending.savers.append(save)
    try:
        yield
    finally:
        _ending.savers.remove(save)


@contextlib.contextmanager
def patient(seconds: float) -> Iterator[None]:
    """Within, the main thread has longer to end by itself: it waits for other processes to save."""
    before, _ending.grace = _ending.grace, seconds
    try:
        yield
    finally:
        _ending.grace = before


@contextlib.contextmanager
def ended_soon() -> Iterator[Callable[[], bool]]:
    """Ends this process soon after Ctrl-C or SIGTERM, whatever its main thread does; for processes of our own.

    Gives a question: whether a signal came.
    """
    told, tell = os.pipe()
    os.set_blocking(tell, False)
    ended, came = threading.Event(), threading.Event()

    def listen() -> None:
        while number := os.read(told, 1):
            if number[0] not in _SIGNALS:
                continue
            grace = _GRACE_OF_THE_SECOND if came.is_set() else _ending.grace
            came.set()
            threading.Thread(target=end_after, args=(grace,), daemon=True).start()

    def end_after(grace: float) -> None:
        if not ended.wait(grace):
            _end()

    before = signal.set_wakeup_fd(tell, warn_on_full_buffer=False)
    threading.Thread(target=listen, daemon=True).start()
    try:
        yield came.is_set
    finally:
        ended.set()
        signal.set_wakeup_fd(before)
        os.close(tell)


@contextlib.contextmanager
def ended_at_once() -> Iterator[None]:
    """Within, Ctrl-C and SIGTERM end this process on the spot: for imports, which an exception leaves half done.

    A signal that is ignored stays so.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = _heard_by(lambda *_: _end())
    try:
        yield
    finally:
        _put_back(before)


@contextlib.contextmanager
def raised() -> Iterator[None]:
    """Within, Ctrl-C and SIGTERM raise KeyboardInterrupt, unless ignored: for what has something to put away."""
    before = _heard_by(signal.default_int_handler)
    try:
        yield
    finally:
        _put_back(before)


def _heard_by(handler: Callable[[int, FrameType | None], object]) -> dict[signal.Signals, Any]:
    """Has the signals that are not ignored handled so; the handlers before."""
    heard = [number for number in _SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    return {number: signal.signal(number, handler) for number in heard}


def _put_back(handlers: dict[signal.Signals, Any]) -> None:
    for number, handler in handlers.items():
        signal.signal(number, handler)


_only_one_ends = threading.Lock()


def _end() -> None:
    """Saves and ends the process; the main thread is in the middle of something."""
    with _only_one_ends:  # never released: a second one has nothing to do
        for save in _ending.savers:
            with contextlib.suppress(Exception):  # a full disk is no reason to stay
                save()
        with contextlib.suppress(OSError, ValueError):
            if sys.stderr.isatty():
                sys.stderr.write("\x1b[?25h")  # a progress bar hides the cursor
            sys.stderr.write(f"lantm: interrupted{'; ' if _ending.afterwards else ''}{_ending.afterwards}\n")
        leave(_STATUS)


def leave(status: int) -> None:
    """Ends the process without waiting for what its devices still compute."""
    for stream in filter(None, (sys.stdout, sys.stderr)):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(status)

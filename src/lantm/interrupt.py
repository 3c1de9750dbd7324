"""Ctrl-C and SIGTERM: long-running code polls for them, and a watchdog thread ends a process that does not react.

Python runs signal handlers only between bytecode instructions, which may take minutes during a compilation, an
allocation or a long computation. A command therefore has a thread that receives the signal immediately. If the main
thread has not ended the command shortly after, that thread saves the state and ends the process.
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
"""Seconds between the signal and the end of the process, in which the main thread can save and exit by itself."""
_GRACE_OF_THE_SECOND = 0.2

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_STATUS = 130  # exit status after Ctrl-C, as in shells


class _Ending:
    """What to do if the main thread does not end by itself."""

    def __init__(self) -> None:
        self.grace = GRACE
        self.savers: list[Callable[[], object]] = []
        self.afterwards = ""


_ending = _Ending()


@contextlib.contextmanager
def interruptible(
    message: str = "finishing the current step and saving (once more to stop at once)", afterwards: str = ""
) -> Iterator[Callable[[], bool]]:
    """Replaces Ctrl-C and SIGTERM by a flag that a loop polls; a second signal raises KeyboardInterrupt.

    `afterwards` says how to continue, for the case that the process is ended by `ended_soon`. Signals reach only the
    main thread; in other threads the flag stays false.
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
    """While entered, `save` is called by the watchdog thread before it ends the process."""
    _ending.savers.append(save)
    try:
        yield
    finally:
        _ending.savers.remove(save)


@contextlib.contextmanager
def patient(seconds: float) -> Iterator[None]:
    """While entered, the main thread has more time to end by itself, to wait for other processes to save."""
    before, _ending.grace = _ending.grace, seconds
    try:
        yield
    finally:
        _ending.grace = before


@contextlib.contextmanager
def ended_soon() -> Iterator[Callable[[], bool]]:
    """Ends this process shortly after Ctrl-C or SIGTERM, whatever its main thread does; for command-line processes.

    Yields a function that tells whether a signal came.
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
        os.close(told)

    def end_after(grace: float) -> None:
        if not ended.wait(grace):
            _end()

    def lost(unraisable: "sys.UnraisableHookArgs") -> None:
        """A KeyboardInterrupt in a destructor or a callback of the collector gets no further: `end_after` ends it."""
        if not issubclass(unraisable.exc_type, KeyboardInterrupt):
            shown(unraisable)

    before = signal.set_wakeup_fd(tell, warn_on_full_buffer=False)
    shown, sys.unraisablehook = sys.unraisablehook, lost
    threading.Thread(target=listen, daemon=True).start()
    try:
        yield came.is_set
    finally:
        ended.set()
        sys.unraisablehook = shown
        signal.set_wakeup_fd(before)
        os.close(tell)


@contextlib.contextmanager
def ended_at_once() -> Iterator[None]:
    """While entered, Ctrl-C and SIGTERM end the process immediately: for imports, which an exception would leave half
    done.

    An ignored signal stays ignored.
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
    """While entered, Ctrl-C and SIGTERM raise KeyboardInterrupt, unless ignored: for code that has to clean up."""
    before = _heard_by(signal.default_int_handler)
    try:
        yield
    finally:
        _put_back(before)


def _heard_by(handler: Callable[[int, FrameType | None], object]) -> dict[signal.Signals, Any]:
    """Installs a handler for the signals that are not ignored; returns the previous handlers."""
    heard = [number for number in _SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    return {number: signal.signal(number, handler) for number in heard}


def _put_back(handlers: dict[signal.Signals, Any]) -> None:
    for number, handler in handlers.items():
        signal.signal(number, handler)


_only_one_ends = threading.Lock()


def _end() -> None:
    """Saves and ends the process, while the main thread is busy."""
    with _only_one_ends:  # never released, so that only one thread does this
        for save in _ending.savers:
            with contextlib.suppress(Exception):  # the process ends even if saving fails, as with a full disk
                save()
        with contextlib.suppress(OSError, ValueError):
            # Not `sys.stderr`: a live display takes what is written to that, and draws itself again below it.
            stream = sys.__stderr__ or sys.stderr
            if stream.isatty():
                stream.write("\r\x1b[2K\x1b[?25h")  # clears the live line, and shows the cursor, which it hides
            stream.write(f"lantm: interrupted{'; ' if _ending.afterwards else ''}{_ending.afterwards}\n")
            stream.flush()
        leave(_STATUS)


def leave(status: int) -> None:
    """Ends the process without waiting for computations that are still running on its devices."""
    for stream in filter(None, (sys.stdout, sys.stderr)):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(status)

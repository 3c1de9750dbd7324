"""Ctrl-C as a question that long work asks when it can stop."""

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def interruptible(
    message: str = "finishing the current step and saving (once more to stop at once)",
) -> Iterator[Callable[[], bool]]:
    """Turns Ctrl-C and SIGTERM into a question that a loop asks when it can stop; the second one stops at once.

    Signals reach the main thread only: elsewhere the answer is always no.
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
    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

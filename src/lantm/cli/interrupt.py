"""Ctrl-C as a question that long work asks when it can stop."""

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def interruptible(until: str = "the epoch") -> Iterator[Callable[[], bool]]:
    """Turns Ctrl-C and a polite kill into a question that a loop asks when `until` is done; twice ends at once."""
    asked = False

    def ask(number: int, frame: FrameType | None) -> None:
        nonlocal asked
        if asked:
            raise KeyboardInterrupt
        asked = True
        print(f"\nfinishing {until} and saving (once more to stop at once)", file=sys.stderr)

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

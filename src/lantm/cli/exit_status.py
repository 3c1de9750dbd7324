"""Turns the exception that ended a command into one line on standard error and an exit status.

Only a bug in this package shows a traceback.
"""

import contextlib
import os
import sys
import traceback

from lantm.cli.printable import printable
from lantm.errors import LantmError, reason
from lantm.registry import MODULES

USAGE, INTERRUPTED, CLOSED = 2, 130, 141  # 130 and 141 as in shells


class HelpShown(SystemExit):
    """Help was requested and printed: exit status 0."""


def prepare_output() -> None:
    """Makes sure that output exists and accepts any character; characters it cannot encode become `?`."""
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 stays open until the process ends
    if sys.stdout is None:
        raise LantmError(f"standard output is closed: send it to a file, or to {os.devnull}")
    for stream in (sys.stdout, sys.stderr):
        # "surrogateescape" is the C locale's, and refuses characters too.
        if getattr(stream, "errors", None) in ("strict", "surrogateescape") and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


def status_after(error: BaseException) -> int:
    """Prints the error in one line and returns the exit status; bugs in this package are raised again."""
    if isinstance(error, HelpShown):
        return 0
    if isinstance(error, KeyboardInterrupt):
        return _say("interrupted", INTERRUPTED)
    # While printing a table, the rich library exits on its own.
    if isinstance(error, BrokenPipeError) or isinstance(error.__context__, BrokenPipeError):
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        more = f"; {error}" if isinstance(error, BrokenPipeError) and error.errno is None else ""
        return _say(f"the output was closed too early{more}", CLOSED)
    if isinstance(error, LantmError):
        return _say(str(error))
    if (place := _users_code(error)) is not None:
        kind, said = type(error).__name__, _said(error)
        return _say(f"{place} raised {kind}" + (f": {said}" if said != kind else ""))
    if isinstance(error, OSError):  # such as a full disk or missing permissions
        return _say(str(error))
    if isinstance(error, MemoryError) or "RESOURCE_EXHAUSTED" in reason(error):
        return _say("there is not enough memory for this: take fewer seeds, shorter lengths or smaller batches")
    for name in _PLATFORMS:
        if name in os.environ and not _has_devices():
            said = f"{name}={os.environ[name]}"
            return _say(f"JAX cannot use {said} here: unset it, or install JAX for it; lantm doctor")
    raise error


_PLATFORMS = ("JAX_PLATFORMS", "JAX_PLATFORM_NAME")  # the second is JAX's older name


def _has_devices() -> bool:
    """Whether JAX finds the devices of these variables; if not, it raises an unspecific error."""
    import jax

    try:
        return bool(jax.devices())
    except Exception:
        return False


_COMPILED = "this code is compiled, and the symbols are not known then: "
_ONE_LENGTH = "this code is compiled once for all lengths, so `length` is no number then: "
_CHOOSE = f"{_ONE_LENGTH}make the array as long as `symbols`, and choose in it by jnp.arange(symbols.size) < length"
_HINTS = {
    "NonConcreteBooleanIndexError": f"{_COMPILED}for an output whose size depends on them, set sizes_vary = True and "
    "return lantm.tasks.keep(symbols, chosen), as examples/letters.py does",
    "TracerBoolConversionError": f"{_COMPILED}instead of if, and, or, not, use jnp.where, &, |, ~",
    "TracerArrayConversionError": f"{_COMPILED}use jax.numpy instead of numpy",
    "TracerIntegerConversionError": _CHOOSE,
    "ConcretizationTypeError": _CHOOSE,
}
"""What to do about errors of JAX that a task's `output` runs into; its own messages speak of tracers."""


def _said(error: BaseException) -> str:
    """What to do about an error in a user's code, or what the error says."""
    said = reason(error)
    if isinstance(error, IndexError) and "static" in said and "slice(" in said:  # symbols[:length]
        return _CHOOSE
    return _HINTS.get(type(error).__name__, said)


def _users_code(error: BaseException) -> str | None:
    """The location in a user's module that an error comes from, if any."""
    places = [
        f"{frame.f_code.co_filename}, line {line},"
        for frame, line in traceback.walk_tb(error.__traceback__)
        if frame.f_globals.get("__name__") in MODULES
    ]
    return places[-1] if places else None


def _say(reason: str, status: int = USAGE) -> int:
    with contextlib.suppress(OSError, ValueError):  # standard error may be closed too
        print(f"lantm: {printable(' '.join(reason.split()))}", file=sys.stderr)
    return status

"""Runs one command in its process: warnings, signal handling, the message after a silence, and the exit."""

import atexit
import contextlib
import gc
import importlib
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from typing import Any

from lantm import cli
from lantm.cli.exit_status import prepare_output, status_after
from lantm.cli.heartbeat import never_silent
from lantm.cli.printable import printable
from lantm.errors import LantmError, LantmWarning, meant
from lantm.interrupt import ended_at_once, ended_soon, leave, raised


def run(arguments: list[str] | None = None) -> int:
    """Runs a command and returns its exit status; without arguments, the command line of this process."""
    try:
        prepare_output()
        own_process = arguments is None
        with never_silent("at work") if own_process else contextlib.nullcontext():
            return _run(sys.argv[1:] if arguments is None else arguments, own_process)
    except BaseException as error:
        return status_after(error)


def _run(arguments: list[str], own_process: bool) -> int:
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        commands = "\n".join(f"  {name:<12}{summary}" for name, summary in cli.COMMANDS.items())
        print(cli.HELP.format(commands=commands), end="")
        return 0
    command, *rest = arguments
    if command == "--version":
        from lantm import __version__

        print(f"lantm {__version__}")
        return 0
    if command not in cli.COMMANDS:
        raise LantmError(f"unknown command {command!r}: {meant(command, cli.COMMANDS)}")
    with ended_at_once(), _nothing_collected(own_process):  # importing takes a second or two, mostly for JAX
        module = importlib.import_module(f"lantm.cli.{command}")
        devices = importlib.import_module("lantm.devices")
        devices.use_all_cores()
        devices.keep_memory()
    with _warnings_in_one_line(), raised() if own_process else contextlib.nullcontext():
        importlib.import_module("lantm.program_cache").keep_programs()
        return int(module.main(rest))


@contextlib.contextmanager
def _nothing_collected(own_process: bool) -> Iterator[None]:
    """Disables garbage collection during imports, and exempts the imported modules from later collections.

    Otherwise Python scans them repeatedly, which takes a fifth of the time of a short command.
    """
    gc.disable()
    try:
        yield
    finally:
        if own_process:
            gc.freeze()
        gc.enable()


@contextlib.contextmanager
def _warnings_in_one_line() -> Iterator[None]:
    """Shows this package's warnings in one line, without their source location."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", LantmWarning)
        show = warnings.showwarning

        def shown(message: Warning | str, category: type[Warning], *others: Any, **more: Any) -> None:
            if issubclass(category, LantmWarning):
                print(printable(f"lantm: warning: {message}"), file=sys.stderr)
            else:
                show(message, category, *others, **more)

        warnings.showwarning = shown
        yield


def run_and_exit() -> None:
    """Runs the command of this process, and ends it."""
    status: int | None = None

    def end() -> None:
        """Ends the process without shutting JAX down, which would take a third of a second."""
        if status is None:  # a bug in this package: Python shows the traceback
            return
        try:
            if sys.stdout is not None:  # closed before the start
                sys.stdout.flush()
        except (OSError, ValueError):
            return  # Python reports that the output could not be written
        leave(status)

    atexit.register(end)  # handlers run in reverse order, so this is the last
    with ended_soon() as interrupted:
        status = run()
    if interrupted() or _threads_remain():  # a computation may still be running on the device
        leave(status)
    sys.exit(status)


def _threads_remain() -> bool:
    """Whether threads go on for which Python would wait: those that a user's module started, or that compile a program.

    They have a second to end.
    """
    limit = time.monotonic() + 1
    others = [one for one in threading.enumerate() if not one.daemon and one is not threading.current_thread()]
    for one in others:
        one.join(max(0, limit - time.monotonic()))
    return any(one.is_alive() for one in others)

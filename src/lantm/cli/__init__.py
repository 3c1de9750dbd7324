"""The command line: `lantm COMMAND ...`, one module per command, loaded when it is called."""

import atexit
import contextlib
import gc
import importlib
import sys
import warnings
from collections.abc import Iterator
from typing import Any

from lantm.cli.ending import prepare_output, status_after
from lantm.errors import LantmError, LantmWarning
from lantm.interrupt import ended_at_once, ended_soon, leave

COMMANDS = {
    "demo": "watch a machine learn to copy, in a few minutes on a laptop",
    "solve": "let a trained machine answer a problem of yours",
    "train": "train machines on a task or a text, many seeds at once, into a run folder",
    "eval": "score trained machines at any lengths on fresh problems, or on a text",
    "verify": "count exact answers at a length, on random and hard problems; explain a mistake",
    "report": "the results of a run as a page: curves, machines at work, why they fail",
    "view": "a page that shows machines at work, step by step, to be opened from disk",
    "trace": "draw what a machine does with a problem or a text: keys, gates, answer",
    "video": "watch a machine learn: one frame per epoch, as GIF or MP4",
    "reproduce": "a table of the paper, or all of them, ours beside theirs, pass or fail",
    "sweep": "a grid of experiments, on one machine or many, interrupted and resumed at will",
    "zoo": "the trained machines that ship with the package",
    "info": "tasks, models, geometries and recipes; the parameters of a model",
    "check": "whether a task, geometry, weighting or controller of your own keeps its contract",
    "doctor": "versions, devices, whether the kernels serve, and what would make it faster",
    "completion": "a script that completes commands and flags in bash, zsh or fish",
}

_HELP = """usage: lantm COMMAND ...

Train, test, explain and extend Lie access neural Turing machines.

commands:
{commands}

Try first:
  lantm solve copy "hello, world"
  lantm train copy --recipe demo --seeds 2 --out runs/copy
  lantm eval runs/copy --scales 1 2 4
  lantm solve runs/copy "hello, world"

lantm COMMAND --help describes a command. Usage errors exit with status 2.
"""


def main(arguments: list[str] | None = None) -> int:
    """Runs a command and returns its exit status; without arguments, that of the process, which is its own."""
    try:
        prepare_output()
        return _run(sys.argv[1:] if arguments is None else arguments, _nothing_collected(arguments is None))
    except BaseException as error:
        return status_after(error)


def _run(arguments: list[str], while_importing: contextlib.AbstractContextManager[None]) -> int:
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        commands = "\n".join(f"  {name:<12}{summary}" for name, summary in COMMANDS.items())
        print(_HELP.format(commands=commands), end="")
        return 0
    command, *rest = arguments
    if command == "--version":
        from lantm import __version__

        print(f"lantm {__version__}")
        return 0
    if command not in COMMANDS:
        raise LantmError(f"unknown command {command!r}: known are {', '.join(COMMANDS)}")
    with ended_at_once(), while_importing:  # a second or two, of which most is JAX's
        module = importlib.import_module(f"lantm.cli.{command}")
        importlib.import_module("lantm.devices").use_all_cores()
    with _warnings_in_one_line():
        importlib.import_module("lantm.program_cache").keep_programs()
        return int(module.main(rest))


@contextlib.contextmanager
def _nothing_collected(own_process: bool) -> Iterator[None]:
    """While modules are imported there is no garbage, and in a process of our own they are never looked through.

    Python would do so again and again, which takes a fifth of the time that a short command has.
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
    """Shows our own warnings in one line, without their place in the code."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", LantmWarning)
        show = warnings.showwarning

        def shown(message: Warning | str, category: type[Warning], *others: Any, **more: Any) -> None:
            if issubclass(category, LantmWarning):
                print(f"lantm: warning: {message}", file=sys.stderr)
            else:
                show(message, category, *others, **more)

        warnings.showwarning = shown
        yield


def entry() -> None:
    """The entry point of the installed script."""
    status: int | None = None

    def end() -> None:
        """Ends the process without taking JAX apart, which would take a third of a second."""
        if status is None:  # a fault of ours, which Python shows
            return
        try:
            sys.stdout.flush()
        except (OSError, ValueError):
            return  # Python says that the output could not be written
        leave(status)

    atexit.register(end)  # the first to be registered is the last to be called
    with ended_soon() as interrupted:
        status = main()
    if interrupted():  # the device may still compute what nobody waits for
        leave(status)
    sys.exit(status)

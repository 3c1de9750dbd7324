"""The command line `lantm COMMAND ...`: a table of commands, each in a module that is imported when it is called.

This module imports nothing else, so that Ctrl-C is handled from the start of the process.
"""

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

HELP = """usage: lantm COMMAND ...

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
    from lantm.cli.process import run

    return run(arguments)


def entry() -> None:
    """The entry point of the installed script."""
    import signal

    for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGTERM, signal.SIG_DFL)):
        if signal.getsignal(number) is usual:  # and is not ignored
            signal.signal(number, _end)
    from lantm.cli.process import run_and_exit

    run_and_exit()


def _end(number: int, frame: object) -> None:
    """Ends a process that has nothing to save: until a command begins, and after its end."""
    import os

    try:
        os.write(2, b"lantm: interrupted\n")
    except OSError:
        pass  # nobody is told
    finally:
        os._exit(130)

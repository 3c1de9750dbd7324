"""The command line `lantm COMMAND ...`: a table of commands, each in a module that is imported when it is called.

This module imports nothing else, so that Ctrl-C is handled from the start of the process.
"""

COMMANDS = {
    "demo": "train a machine to copy and watch it, in a few minutes on a laptop",
    "solve": "let a trained machine answer a problem",
    "train": "train machines on a task or a text, many seeds in parallel, into a run folder",
    "eval": "score trained machines on fresh problems of any length, or on a text",
    "verify": "count exact answers at one length, on random and hard problems; explain a mistake",
    "report": "write the results of a run as an HTML page: curves, machines at work, diagnoses",
    "view": "write an HTML page that shows machines at work, step by step",
    "trace": "draw what a machine does on a problem or a text: keys, gates, answer",
    "video": "render a training as GIF or MP4, one frame per epoch",
    "reproduce": "train a table of the paper, or all of them, and compare with the paper's scores",
    "sweep": "train a grid of experiments, on one machine or a cluster; can be resumed",
    "zoo": "list the trained machines that ship with the package; add one",
    "info": "list tasks, models, geometries and recipes; count the parameters of a model",
    "check": "test your own task, geometry, weighting or controller against its contract",
    "doctor": "show versions, devices and the state of the kernels, and how to run faster",
    "completion": "print a completion script for bash, zsh or fish",
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
    """Runs a command and returns its exit status; without arguments, the command line of this process."""
    from lantm.cli.process import run

    return run(arguments)


def entry() -> None:
    """The entry point of the installed script."""
    import signal

    for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGTERM, signal.SIG_DFL)):
        if signal.getsignal(number) is usual:  # not ignored
            signal.signal(number, _end)
    from lantm.cli.process import run_and_exit

    run_and_exit()


def _end(number: int, frame: object) -> None:
    """Ends a process that has nothing to save: before a command begins, and after its end."""
    import os

    try:
        os.write(2, b"lantm: interrupted\n")
    except OSError:
        pass  # standard error is closed
    finally:
        os._exit(130)

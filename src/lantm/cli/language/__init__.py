"""`lantm language ...`: machines that read a text and guess its next word."""

import importlib

from lantm.errors import LantmError

COMMANDS = {
    "train": "train a machine on a text in three files, into a run folder",
    "eval": "the perplexity of a run's machines on validation and test",
    "keys": "where the heads of a trained machine went: a figure and its numbers",
}

_HELP = """usage: lantm language COMMAND ...

Machines that read a text word by word and guess the next one, without an end:
state and memory are carried along, and the oldest memories are dropped.

commands:
{commands}

Try first:
  lantm language train FOLDER --model lstm --epochs 3 --out runs/words
  lantm language eval runs/words
  lantm reproduce language --data FOLDER --quick

FOLDER holds train.txt, valid.txt and test.txt, or the same with a name in
front. The standard files of the Penn Treebank (ptb.train.txt, ptb.valid.txt,
ptb.test.txt) do not come with this package: they are in Tomas Mikolov's
simple-examples.tgz. lantm language COMMAND --help says what a command takes.
"""


def main(arguments: list[str]) -> int:
    """Runs the command."""
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        commands = "\n".join(f"  {name:<8}{summary}" for name, summary in COMMANDS.items())
        print(_HELP.format(commands=commands), end="")
        return 0
    command, *rest = arguments
    if command not in COMMANDS:
        raise LantmError(f"unknown command 'language {command}': known are {', '.join(COMMANDS)}")
    importlib.import_module("lantm.seeds").use_one_device()
    return importlib.import_module(f"lantm.cli.language.{command}").main(rest)

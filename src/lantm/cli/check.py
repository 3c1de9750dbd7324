"""`lantm check`: tests a user's task, geometry, weighting or controller against its contract (package `checking`)."""

import dataclasses
from typing import Annotated

import tyro
from rich.console import Console

from lantm.checking import check, find
from lantm.cli.output import print_json, say, working
from lantm.cli.parse import parse


@dataclasses.dataclass(frozen=True)
class Arguments:
    """Check a task, a geometry, a weighting or a controller against its contract, and print a counterexample.

    Of a task: the layout of a thousand random and hard problems of all lengths, and the output against what `expected`
    says. Of a geometry: the laws of the group, its action, mixing and distances, and finite gradients. Of a weighting:
    affinities, weights and gradients. Of a controller: sizes, state and gradients in a layer.

    `lantm train` does the quick part of it by itself before the first epoch, for what is not built in. The exit status
    is 1 if something is broken.
    """

    name: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="NAME")]
    """Your own as module:Name, with options as in mine:Task[width=3]; or one that is built in, such as copy or disk."""
    json: bool = False
    """Print JSON on standard output: a row for each law."""


def main(arguments: list[str]) -> int:
    """Runs the command."""
    chosen = parse(Arguments, "check", arguments)
    with working("checking"):
        found = check(find(chosen.name))
    broken = [finding for finding in found if finding.broken]
    if chosen.json:
        print_json([finding._asdict() | {"broken": finding.broken} for finding in found])
        return 1 if broken else 0
    console = Console()
    for finding in found:
        if not finding.cases:
            say(console, f"not tried  {finding.law}: {finding.counterexample}", "yellow")
        elif finding.broken:
            say(console, f"broken     {finding.law}", "red")
            say(console, f"           {finding.counterexample}")
        else:
            say(console, f"holds      {finding.law} ({finding.cases:,} cases)", "green")
    say(console, f"{chosen.name}: " + (f"{len(broken)} of {len(found)} laws are broken" if broken else "all hold"))
    return 1 if broken else 0

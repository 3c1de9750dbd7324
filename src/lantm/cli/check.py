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
    """Test a task, geometry, weighting or controller against its contract, and print a counterexample if it fails.

    Tasks: the layout of a thousand random and hard problems of all lengths, and `output` against `expected`.
    Geometries: the laws of the group, its action, mixing and distances, and finite gradients. Weightings: affinities,
    weights and gradients. Controllers: sizes, state and gradients in a layer.

    `lantm train` runs the quick part of these tests before the first epoch for classes that are not built in. The exit
    status is 1 if a law is broken.
    """

    name: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="NAME")]
    """Your class as module:Name, with options as in mine:Task[width=3], or a built-in name such as copy or disk."""
    json: bool = False
    """Print JSON on standard output: one row per law."""


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
            say(console, f"not tested {finding.law}: {finding.counterexample}", "yellow")
        elif finding.broken:
            say(console, f"broken     {finding.law}", "red")
            say(console, f"           {finding.counterexample}")
        else:
            cases = "1 case" if finding.cases == 1 else f"{finding.cases:,} cases"
            say(console, f"holds      {finding.law} ({cases})", "green")
        if finding.note:
            say(console, f"           {finding.note}", "yellow")
    good = "all hold" if all(finding.cases for finding in found) else "all that could be tested hold"
    say(console, f"{chosen.name}: " + (f"{len(broken)} of {len(found)} laws are broken" if broken else good))
    return 1 if broken else 0

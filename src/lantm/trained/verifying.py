"""Checks the arguments of `Trained.verify`; the counting is in `evaluation/exact_match.py`."""

from lantm.errors import LantmError
from lantm.evaluation import RANDOM, Verification, Watch, verify
from lantm.evaluation.examiner import check_problems
from lantm.machine import Model
from lantm.tasks import Source, Task


def verify_machine(
    model: Model,
    source: Source,
    length: int,
    problems: int,
    random: bool,
    hard: bool,
    draw: int,
    watch: Watch | None,
) -> Verification:
    """Runs a machine on random and hard problems of a length; raises a `LantmError` if there are none."""
    if not isinstance(source, Task):
        raise LantmError("a text has no answers to verify: lantm eval gives the perplexity of a machine that reads one")
    check_problems(problems)
    source.check_length(length)
    if length > source.longest_length:
        raise LantmError(f"length is {length}: ask for lengths up to {source.longest_length:,}")
    parts = {"random": (RANDOM,) if random else (), "hard": source.hard_kinds if hard else ()}
    asked = {part: kinds for part, kinds in parts.items() if kinds}
    if not asked:
        raise LantmError(f"{source.name} has no hard problems: ask for random ones")
    return verify(model, source, length, problems, asked, draw, watch)

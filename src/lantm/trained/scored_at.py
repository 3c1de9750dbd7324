"""The tests that scores are computed on, by label: scales, exact lengths, or the parts of a text."""

from collections.abc import Sequence
from typing import Any

from lantm.errors import LantmError
from lantm.evaluation import random_and_hard
from lantm.evaluation.examiner import PARTS
from lantm.tasks import Lengths, Source, Text


def lengths_or_parts(
    source: Source, scales: Sequence[int] = (), lengths: Sequence[int] = (), hard: bool = False
) -> dict[str, Any]:
    """The tests by label: lengths of a task, with `hard` also on hard problems, or the parts of a text."""
    for name, given in (("scales", scales), ("lengths", lengths)):
        if not isinstance(given, Sequence) or isinstance(given, str):
            raise LantmError(f"{name} is {given!r}: give a sequence of whole numbers, as in {name}=(4,)")
    if isinstance(source, Text):
        if scales or lengths or hard:
            raise LantmError("a text has no lengths to score at: leave out --scales, --lengths and --hard")
        return dict(PARTS)
    if hard and not source.hard_kinds:
        raise LantmError(f"{source.name} has no hard problems: leave out --hard, or let the task define hard_draws")
    scales = scales or (() if lengths else source.usual_scales)
    tests = {f"{scale}x": source.lengths_at(scale) for scale in scales}
    for test in tests.values():
        source.check_length(test.largest)
    for length in lengths:
        source.check_length(length)
        share = length / source.train_lengths.largest
        tests[f"{share:.3g}x"] = Lengths(length, length, source.train_lengths.stride)
    return random_and_hard(tests, tests if hard else {})

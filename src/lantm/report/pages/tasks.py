"""Encodes a task for a page: the names of its symbols and its options."""

from typing import Any

from lantm.report.marks import symbol_mark
from lantm.tasks import TASKS, Double, Programs, RepeatCopy, Source, Task
from lantm.tasks.grammar import TEMPLATES

TASK_SCRIPTS = tuple(f"tasks/{name}.js" for name in ("sequences", "numbers", "marked", "programs", "tasks"))
"""The scripts that read problems, in their order on a page. They also run without a page."""


def pack_task(source: Source) -> dict[str, Any]:
    """The encoded task; `typed` says whether the page can read typed problems of it."""
    packed: dict[str, Any] = {
        "name": source.name,
        "symbols": [symbol_mark(source, symbol) for symbol in range(source.vocabulary)],
        "dataSymbols": source.data_symbols,
        "lengths": [source.train_lengths.smallest, source.train_lengths.largest, source.train_lengths.stride],
        "typed": _is_built_in(source),
    }
    if isinstance(source, Task):
        markers = {"start": source.start, "endOfInput": source.end_of_input, "endOfOutput": source.end_of_output}
        packed |= {**markers, "longest": source.longest_length}
    if isinstance(source, Double):
        packed["highestFirst"] = source.highest_first
    if isinstance(source, RepeatCopy):
        packed["textSize"] = source.text_size
    if isinstance(source, Programs):
        packed["templates"] = [[one.kind, one.text] for one in TEMPLATES if one.kind in source.chosen_kinds]
    return packed


def _is_built_in(source: Source) -> bool:
    """Whether it is a built-in task, with lengths in the usual unit."""
    if not isinstance(source, Task) or source.name not in TASKS:
        return False
    usual = TASKS.make(source.name)
    return type(source) is type(usual) and getattr(source, "unit", None) == getattr(usual, "unit", None)

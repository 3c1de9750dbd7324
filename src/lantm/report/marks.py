"""How plots and pages display a symbol."""

from lantm.tasks import Source, Task

END = "∎"
"""The end of an answer. No task has a symbol that looks like it, and `$`, which some papers use, is one of copy's."""


def symbol_mark(source: Source, symbol: int) -> str:
    """A symbol as it is shown: as the task names it, but for the end of an answer, which no symbol looks like."""
    if isinstance(source, Task) and symbol == source.end_of_output:
        return END
    return source.symbol_name(symbol)

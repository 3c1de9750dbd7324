"""How plots and pages display a symbol."""

from lantm.tasks import Source, Task

END = "∎"
"""The displayed end of an answer. It resembles no symbol of any task, unlike `$`, which some papers use."""


def symbol_mark(source: Source, symbol: int) -> str:
    """The displayed form of a symbol: the task's name for it, or `END` for the end of an answer."""
    if isinstance(source, Task) and symbol == source.end_of_output:
        return END
    return source.symbol_name(symbol)

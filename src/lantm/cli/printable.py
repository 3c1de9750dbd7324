"""Replaces control characters in text from files, which could otherwise control the terminal."""

import re

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # not tabs and line breaks, nor the letters of any script


def printable(text: str) -> str:
    """A text without control characters, which a file of somebody else's may have for your terminal.

    >>> printable("a\\x1b[2Jb"), printable("née\\n")
    ('a?[2Jb', 'née\\n')
    """
    return _CONTROLS.sub("?", text)

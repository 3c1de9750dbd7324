"""Replaces control characters in text from files, which could otherwise control the terminal."""

import re

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # excludes tabs, line breaks and letters of all scripts


def printable(text: str) -> str:
    """The text with control characters replaced by `?`; text from untrusted files could otherwise control the terminal.

    >>> printable("a\\x1b[2Jb"), printable("née\\n")
    ('a?[2Jb', 'née\\n')
    """
    return _CONTROLS.sub("?", text)

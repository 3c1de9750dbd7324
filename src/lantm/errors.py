"""The exception for usage errors, the warnings, and what of a text may be shown to a person."""

import re

# What terminals obey; not tabs and line breaks, nor the letters of any script.
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def printable(text: str) -> str:
    """A text without control characters, which a file of somebody else's may have for your terminal.

    >>> printable("a\\x1b[2Jb"), printable("née\\n")
    ('a?[2Jb', 'née\\n')
    """
    return _CONTROLS.sub("?", text)


class LantmError(Exception):
    """A usage error. Its message is one line that says what is wrong and how to fix it.

    The command line prints the message without a traceback and exits with status 2.
    """


class LantmWarning(UserWarning):
    """Something that a person should know of, though work continues. The command line prints it in one line."""


class DamageWarning(LantmWarning):
    """A file was damaged and passed over, since an older one served in its place."""


class SlowerWarning(LantmWarning):
    """What was asked for runs, but not by the fastest code there is."""

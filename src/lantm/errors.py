"""`LantmError` for usage errors, the warning classes, messages of exceptions, and "did you mean" suggestions."""

import contextlib
import difflib
from collections.abc import Iterable, Iterator


class LantmError(Exception):
    """A usage error. Its message is one line that says what is wrong and how to fix it.

    The command line prints the message without a traceback and exits with status 2.
    """


class LantmWarning(UserWarning):
    """Something the user should know although work continues. The command line prints it in one line."""


class DamageWarning(LantmWarning):
    """A damaged file was skipped, since an older one could be used instead."""


class SlowerWarning(LantmWarning):
    """A request runs, but not by the fastest implementation."""


@contextlib.contextmanager
def concerning(subject: object) -> Iterator[None]:
    """While entered, the messages of `LantmError` begin with their subject, such as the file that is read."""
    try:
        yield
    except LantmError as error:
        raise LantmError(f"{subject}: {error}") from error


def check_at_least_one(record: object, *names: str) -> None:
    """Raises a `LantmError` unless these fields of a record are at least 1."""
    for name in names:
        if (value := getattr(record, name)) < 1:
            raise LantmError(f"{name} is {value}: give a whole number of at least 1")


def first_line(error: BaseException) -> str:
    """The first line of an exception's message, or the name of its class."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def reason(error: BaseException) -> str:
    """The message of an exception in one line, or the name of its class: a user's class may fail to give a message.

    >>> reason(ValueError("one\\ntwo")), reason(KeyError())
    ('one two', 'KeyError')
    """
    try:
        return " ".join(str(error).split()) or type(error).__name__
    except Exception:
        return type(error).__name__


def meant(name: str, known: Iterable[str], also: Iterable[str] = ()) -> str:
    """The known names for an error message about an unknown one, with the most similar one first.

    Names in `also` may be suggested, but are not listed.

    >>> meant("epoch", ("epochs", "cells"))
    "did you mean 'epochs'? known are epochs, cells"
    """
    known = list(known)
    near = difflib.get_close_matches(name, [*known, *also], n=1)
    return (f"did you mean {near[0]!r}? " if near else "") + f"known are {', '.join(known)}"

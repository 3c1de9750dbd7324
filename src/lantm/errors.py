"""The exception and the warning that are written for the person at the terminal."""


class LantmError(Exception):
    """A mistake in what was asked for: one line that says what is wrong and what to do.

    The command line prints its message without a traceback and exits with status 2.
    """


class SlowerWarning(UserWarning):
    """What was asked for runs, but not by the fastest code there is."""

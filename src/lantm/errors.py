"""The one exception that is written for the person at the terminal."""


class LantmError(Exception):
    """A mistake in what was asked for: one line that says what is wrong and what to do.

    The command line prints its message without a traceback and exits with status 2.
    """

"""The exception for usage errors."""


class LantmError(Exception):
    """A usage error. Its message is one line that says what is wrong and how to fix it.

    The command line prints the message without a traceback and exits with status 2.
    """

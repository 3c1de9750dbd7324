"""The exception and the warnings that are written for the person at the terminal."""


class LantmError(Exception):
    """A mistake in what was asked for: one line that says what is wrong and what to do.

    The command line prints its message without a traceback and exits with status 2.
    """


class LantmWarning(UserWarning):
    """Something that a person should know of, though work continues. The command line prints it in one line."""


class DamageWarning(LantmWarning):
    """A file was damaged and passed over, since an older one served in its place."""


class SlowerWarning(LantmWarning):
    """What was asked for runs, but not by the fastest code there is."""

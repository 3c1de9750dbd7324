"""The exception for usage errors, and the warnings."""


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

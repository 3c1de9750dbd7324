"""Marks that figures and pages share."""

END = "∎"
"""The end of an answer. No task has a symbol that looks like it, and `$`, which some papers use, is one of copy's."""

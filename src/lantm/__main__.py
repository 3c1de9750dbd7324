"""Runs the command line as `python -m lantm`."""

from lantm.cli import entry

entry()

"""Engines: where the groups of a sweep are worked on. Here: in this process, one after the other."""

import abc
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from lantm.sweeps.folder import SweepFolder
from lantm.sweeps.packing import Group
from lantm.sweeps.work import work

State = Literal["waiting", "running", "done", "failed", "stopped"]


class Event(NamedTuple):
    """What happened to a group."""

    group: Group
    state: State
    epoch: int = 0
    said: str = ""
    """Why it failed, or what went wrong but could be mended."""


class Engine(abc.ABC):
    """Works on groups. However it does, the same groups leave the same records."""

    @abc.abstractmethod
    def run(
        self,
        groups: Sequence[Group],
        folder: SweepFolder,
        tell: Callable[[Event], None],
        stop: Callable[[], bool],
    ) -> None:
        """Does all groups, or ends soon after `stop` says so; a group that fails does not keep the others."""


class InProcess(Engine):
    """In this process, one group after the other, each on all local devices."""

    def run(
        self,
        groups: Sequence[Group],
        folder: SweepFolder,
        tell: Callable[[Event], None],
        stop: Callable[[], bool],
    ) -> None:
        for group in groups:
            if stop():
                return
            tell(Event(group, "running", folder.epoch(group)))
            tell(attempt(group, folder, tell, stop))


def attempt(group: Group, folder: SweepFolder, tell: Callable[[Event], None], stop: Callable[[], bool]) -> Event:
    """Works on a group; whatever goes wrong with it is said, stored, and left behind for the next attempt."""
    at = 0

    def watch(epoch: int) -> None:
        nonlocal at
        at = epoch
        tell(Event(group, "running", epoch))

    def warn(warning: str) -> None:
        tell(Event(group, "running", at, warning))

    try:
        done = work(group, folder, watch, stop, warn)
    except Exception as error:  # a night's sweep does not end with its first failure
        reason = " ".join(str(error).split()) or type(error).__name__
        folder.note_failure(group, reason)
        return Event(group, "failed", at, reason)
    return Event(group, "done" if done else "stopped", at)

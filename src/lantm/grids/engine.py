"""Engines run the jobs of a grid. The one here runs them in this process, one after the other."""

import abc
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from lantm.grids.folder import GridFolder
from lantm.grids.job import Job, work
from lantm.training import Progress

State = Literal["waiting", "running", "done", "failed", "stopped"]
Stop = Callable[[], bool]
"""Whether to save and end."""


class Event(NamedTuple):
    """What happened to a job."""

    job: Job
    state: State
    epoch: int = 0
    message: str = ""
    """Why it failed, or a warning."""
    progress: Progress | None = None
    """The progress of its training, if it runs in this process."""


Tell = Callable[[Event], None]


class Engine(abc.ABC):
    """Runs jobs. The same jobs give the same records on every engine."""

    @abc.abstractmethod
    def run(self, jobs: Sequence[Job], folder: GridFolder, tell: Tell, stop: Stop) -> None:
        """Runs all jobs, or ends soon after `stop` returns True; a failed job does not stop the others."""


class InProcess(Engine):
    """In this process, one job after the other, each on all local devices."""

    def run(self, jobs: Sequence[Job], folder: GridFolder, tell: Tell, stop: Stop) -> None:
        for job in jobs:
            if stop():
                return
            tell(Event(job, "running", folder.run(job.run_name).last_epoch()))
            tell(attempt(job, folder, tell, stop))


def attempt(job: Job, folder: GridFolder, tell: Tell, stop: Stop) -> Event:
    """Runs a job; an error is reported and stored, and the job can be tried again."""
    at = 0

    def watch(progress: Progress) -> None:
        nonlocal at
        at = progress.epoch
        tell(Event(job, "running", at, progress=progress))

    def warn(warning: str) -> None:
        tell(Event(job, "running", at, warning))

    try:
        done = work(job, folder, watch, stop, warn)
    except Exception as error:  # one failed job must not end a long sweep
        reason = " ".join(str(error).split()) or type(error).__name__
        folder.note_failure(job.run_name, reason)
        return Event(job, "failed", at, reason)
    return Event(job, "done" if done else "stopped", at)

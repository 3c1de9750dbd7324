"""`Engine`, which runs the jobs of a grid, and `InProcess`, the engine that runs them one after the other in this
process."""

import abc
import contextlib
import itertools
import threading
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from lantm.devices import on_cpu
from lantm.errors import reason
from lantm.grids.folder import GridFolder
from lantm.grids.job import Job, work
from lantm.training import Progress

State = Literal["waiting", "running", "done", "failed", "stopped"]
Stop = Callable[[], bool]
"""Returns whether to save and stop."""


class Event(NamedTuple):
    """A state change or progress of a job."""

    job: Job
    state: State
    epoch: int = 0
    message: str = ""
    """The reason of a failure, or a warning."""
    progress: Progress | None = None
    """The progress of the training, if it runs in this process."""


Tell = Callable[[Event], None]


class Engine(abc.ABC):
    """Runs jobs. The records do not depend on the engine."""

    @abc.abstractmethod
    def run(self, jobs: Sequence[Job], folder: GridFolder, tell: Tell, stop: Stop) -> None:
        """Runs all jobs, or stops soon after `stop` returns True; a failed job does not stop the others."""


class InProcess(Engine):
    """Runs one job after the other in this process, each on all local devices.

    On an accelerator, the programs of the next job are compiled while a job runs; the cores of a CPU are busy with it.
    """

    def run(self, jobs: Sequence[Job], folder: GridFolder, tell: Tell, stop: Stop) -> None:
        for job, following in itertools.zip_longest(jobs, jobs[1:]):
            if stop():
                return
            tell(Event(job, "running", folder.run(job.run_name).last_epoch()))
            compiling = None
            if not on_cpu() and following is not None and following.run_name != job.run_name:
                compiling = threading.Thread(target=_compile, args=(following,))
                compiling.start()
            tell(attempt(job, folder, tell, stop))
            if compiling is not None and not stop():
                compiling.join()


def _compile(job: Job) -> None:
    with contextlib.suppress(Exception):  # the job will raise the same error when it runs
        job.compile()


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
        folder.note_failure(job.run_name, why := reason(error))
        return Event(job, "failed", at, why)
    return Event(job, "done" if done else "stopped", at)

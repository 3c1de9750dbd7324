"""Runs the jobs of a grid for `lantm sweep` and `lantm reproduce`: engine, time limit, Ctrl-C and display."""

import contextlib
import time
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from rich.console import Console

from lantm.cli.grid_display import GridDisplay
from lantm.errors import LantmError
from lantm.grids import Engine, Event, GridFolder, InProcess, Job
from lantm.grids.engine import Tell
from lantm.interrupt import interruptible
from lantm.tasks import Source
from lantm.training import check_budget

EngineName = Literal["local", "ray"]


class Outcome(NamedTuple):
    """The jobs that were stopped or failed."""

    stopped: list[Job]
    failed: list[Job]

    @property
    def status(self) -> int:
        """The exit status."""
        return 130 if self.stopped else 1 if self.failed else 0


def make_engine(name: EngineName, address: str | None, cpus: int, gpus: float | None) -> Engine:
    """The engine selected by the flags."""
    for flag, value, least in (("cpus", cpus, 0.0), ("gpus", gpus, -1e-9)):
        if value is not None and not value > least:
            raise LantmError(f"{flag} is {value}: give a number above 0")
    if name == "ray":
        from lantm.grids.ray_engine import RayEngine, load_ray

        load_ray()
        return RayEngine(address, cpus, gpus)
    if address is not None:
        raise LantmError("--address is the address of a Ray cluster: add --engine ray")
    return InProcess()


def check_minutes(minutes: float | None) -> None:
    """Raises a `LantmError` unless the time limit is positive."""
    if minutes is not None and not minutes > 0:
        raise LantmError(f"minutes is {minutes}: give a number above 0")


def check_memory(jobs: Sequence[Job], engine: Engine) -> None:
    """Raises a `LantmError` if a training of this grid does not fit into this computer's memory."""
    if not isinstance(engine, InProcess):  # other computers may have more memory
        return
    sources: dict[Any, Source] = {}
    for one in (job.experiment for job in jobs):
        learnt = (one.task, one.lengths, one.text, one.recipe.batch_size, one.recipe.steps)
        if learnt not in sources:  # read each text once
            sources[learnt] = one.source()
        check_budget(one, sources[learnt])


def do_jobs(
    jobs: Sequence[Job],
    folder: GridFolder,
    engine: Engine,
    console: Console,
    minutes: float | None,
    detailed: bool = False,
    done: int = 0,
    also: Sequence[Tell] = (),
    varied: Sequence[str] = (),
) -> Outcome:
    """Runs jobs until they are done, the time is over, or Ctrl-C.

    `detailed` shows every test of a training, `done` is the number of jobs completed before, `also` are further
    listeners for events, and `varied` are the settings in which the jobs differ.
    """
    ending = None if minutes is None else time.monotonic() + 60 * minutes
    states: dict[str, str] = {}
    with contextlib.ExitStack() as stack:
        interrupted = stack.enter_context(interruptible(afterwards="run the same command again to continue"))
        display = stack.enter_context(GridDisplay(console, jobs, detailed, done, varied))

        def tell(event: Event) -> None:
            states[event.job.key] = event.state
            display.update(event)
            for other in also:
                other(event)

        engine.run(jobs, folder, tell, lambda: interrupted() or (ending is not None and time.monotonic() >= ending))

    def ended(state: str) -> list[Job]:
        return [job for job in jobs if states.get(job.key, "stopped") == state]

    return Outcome(ended("stopped") + ended("running"), ended("failed"))

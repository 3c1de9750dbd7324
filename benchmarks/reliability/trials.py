"""What the faults have in common: a small training in a process of its own, and how a fault is counted."""

import os
import pathlib
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from safetensors.numpy import load_file

from lantm.errors import LantmError
from lantm.machine import LantmConfig
from lantm.training import Experiment, Progress, Recipe, RunFolder, train

EPOCHS = 60
EXPERIMENT = Experiment(
    "copy",
    "lantm-invnorm",
    LantmConfig(cells=6, embedding=3, memory_width=3),
    Recipe(learning_rate=0.01, epochs=EPOCHS, batches=2, batch_size=4, test_every=5, test_batches=2),
    seeds=4,
    lengths=(2, 4),
    recorded_seeds=1,
)


class Count(NamedTuple):
    """How often a fault was tried, and what was not as it should be."""

    fault: str
    tried: int
    survived: int
    means: str
    """What counts as survived."""
    problems: list[str]


def count(fault: str, means: str, trials: list[tuple[str, Callable[[], None]]]) -> Count:
    """Tries all; a trial that raises anything is not survived."""
    problems = []
    for name, trial in trials:
        try:
            trial()
        except Exception as error:
            problems.append(f"{name}: {type(error).__name__}: {error}"[:500])
    return Count(fault, len(trials), len(trials) - len(problems), means, problems)


class Child:
    """A process that runs a function; forked before JAX has begun its threads, so that it starts at once."""

    def __init__(self, function: Callable[[], None]):
        """Begins."""
        sys.stdout.flush()
        self.pid = os.fork()
        if self.pid == 0:
            status = 1
            try:
                function()
                status = 0
            except LantmError as error:
                print(error, file=sys.stderr)
                status = 2
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stderr.flush()
                os._exit(status)

    def kill(self) -> None:
        """kill -9, if it is still there."""
        os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> int:
        """Its exit status; below zero the signal that ended it."""
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def ended(self) -> bool:
        """Whether it has ended by itself; it can be waited for all the same."""
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def said_by(function: Callable[[], None], log: pathlib.Path) -> tuple[int, str]:
    """The status of a child that runs the function, and what it wrote to standard error."""

    status = Child(lambda: redirected(function, log)).wait()
    return status, log.read_text()


def redirected(function: Callable[[], object], log: pathlib.Path) -> None:
    """Runs the function with standard error in a file, from here on."""
    os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
    function()


def train_in(
    path: pathlib.Path, watch: Callable[[Progress], None] = lambda progress: None, experiment: Experiment = EXPERIMENT
) -> list[str]:
    """Trains in a folder, continuing from what is there; the warnings."""
    resume = (path / "experiment.json").exists()
    if not resume:
        shutil.rmtree(path, ignore_errors=True)
    folder = RunFolder.open(path) if resume else RunFolder.create(path, experiment, {})
    warnings: list[str] = []
    train(experiment, folder, resume=resume, watch=watch, warn=warnings.append)
    return warnings


def weights(path: pathlib.Path, epoch: int = EPOCHS) -> dict[str, Any]:
    """All arrays of a checkpoint."""
    return load_file(path / "checkpoints" / f"epoch-{epoch:06d}.safetensors")


def assert_same(path: pathlib.Path, expected: pathlib.Path) -> None:
    """The same weights, bit for bit, and the same metrics."""
    ours, theirs = weights(path), weights(expected)
    assert ours.keys() == theirs.keys()
    for name, array in ours.items():
        assert np.array_equal(array.view(np.uint8), theirs[name].view(np.uint8)), f"{name} differs"
    assert (path / "metrics.jsonl").read_bytes() == (expected / "metrics.jsonl").read_bytes(), "metrics differ"
    assert not [*path.rglob(".*.tmp")], "temporary files are left"


def wait_until(condition: Callable[[], bool], seconds: float = 300) -> None:
    """Waits, but not for ever."""
    limit = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < limit, f"nothing happened in {seconds} s"
        time.sleep(0.01)

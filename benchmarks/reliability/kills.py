"""Processes that are killed in the middle of a training, and seeds that diverge in the middle of others."""

import os
import pathlib
import random
import shutil
import signal
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.reliability.trials import (
    EPOCHS,
    EXPERIMENT,
    Child,
    Count,
    assert_same,
    count,
    redirected,
    train_in,
    weights,
)
from lantm import files
from lantm.training import RunFolder, load_learners, train


def killed(times: int, uninterrupted: pathlib.Path, seconds: float, scratch: pathlib.Path) -> Count:
    """kill -9 at random moments, from before the first epoch to the last; then resumed to the end."""
    moments = random.Random(8)
    reached: list[int] = []

    def trial(at: int) -> Callable[[], None]:
        # Shared out evenly over the time of a training, at random within each share.
        moment = seconds * (at + moments.random()) / times

        def run() -> None:
            path = scratch / f"killed-{at}"
            child = Child(lambda: train_in(path) and None)
            time.sleep(moment)
            child.kill()
            status = child.wait()
            assert status in (-signal.SIGKILL, 0), f"it ended with {status} by itself"
            folder = RunFolder(path)
            reached.append(max((row["epoch"] for row in folder.metrics()), default=0))
            assert Child(lambda: train_in(path) and None).wait() == 0, "it did not go on"
            assert_same(path, uninterrupted)
            shutil.rmtree(path)

        return run

    found = count(
        "kill -9 at a random moment of training",
        "resumed, it ends in the same weights and metrics as the uninterrupted run, bit for bit",
        [(f"kill {at}", trial(at)) for at in range(times)],
    )
    spread = f"; killed in epochs {min(reached)} to {max(reached)} of {EPOCHS}" if reached else ""
    return found._replace(means=found.means + spread)


_SAME = "resumed, it ends in the same weights and metrics as the uninterrupted run, bit for bit"


def killed_at_start(times: int, uninterrupted: pathlib.Path, scratch: pathlib.Path) -> Count:
    """kill -9 between the beginning of a process and its first checkpoint."""
    moments = random.Random(9)

    def trial(at: int) -> Callable[[], None]:
        share = (at + moments.random()) / times

        def run() -> None:
            path = scratch / f"starting-{at}"
            began = time.monotonic()
            child = Child(lambda: train_in(path) and None)
            while (
                not child.ended()
                and not [*path.glob("checkpoints/epoch-*")]
                and time.monotonic() - began < _START * share
            ):
                time.sleep(0.002)
            child.kill()
            child.wait()
            assert Child(lambda: train_in(path) and None).wait() == 0, "it did not go on"
            assert_same(path, uninterrupted)
            shutil.rmtree(path)

        return run

    return count("kill -9 during start-up", _SAME, [(f"kill {at}", trial(at)) for at in range(times)])


_START = 3.0  # seconds, about, until the first checkpoint
_MOMENTS = ("open", "fsync", "replace", "replaced")


def killed_in_writes(times: int, uninterrupted: pathlib.Path, scratch: pathlib.Path) -> Count:
    """kill -9 in the middle of writing a file: at its first byte, before it is safe, before and after its rename."""
    writes = random.Random(10)

    def trial(at: int) -> Callable[[], None]:
        moment, left = _MOMENTS[at % len(_MOMENTS)], 1 + writes.randrange(30)

        def die_at_the_write() -> None:
            def counted(function: Callable[..., Any], after: bool) -> Callable[..., Any]:
                def call(*arguments: Any, **more: Any) -> Any:
                    nonlocal left
                    left -= 1
                    done = function(*arguments, **more) if after or left > 0 else None
                    if left <= 0:
                        os.kill(os.getpid(), signal.SIGKILL)
                    return done

                return call

            if moment == "open":
                real = files.temporary_path
                files.temporary_path = counted(real, after=True)
            else:
                name = "replace" if moment == "replaced" else moment
                setattr(files.os, name, counted(getattr(files.os, name), after=moment == "replaced"))
            train_in(scratch / f"writing-{at}")

        def run() -> None:
            path = scratch / f"writing-{at}"
            assert Child(die_at_the_write).wait() == -signal.SIGKILL, "it was not killed"
            assert Child(lambda: train_in(path) and None).wait() == 0, "it did not go on"
            assert_same(path, uninterrupted)
            shutil.rmtree(path)

        return run

    return count("kill -9 in the middle of a write", _SAME, [(f"kill {at}", trial(at)) for at in range(times)])


def paired(times: int, uninterrupted: pathlib.Path, scratch: pathlib.Path) -> Count:
    """Two processes train in one folder: they resume one run, or both make it, at once or a moment apart."""
    moments = random.Random(11)

    def begin(path: pathlib.Path) -> None:
        train(EXPERIMENT, RunFolder.create(path, EXPERIMENT, {}))

    def trial(at: int) -> Callable[[], None]:
        apart = moments.choice([0.0, 0.0, 0.1, 0.5, 1.0]) * moments.random()

        def run() -> None:
            path, fresh = scratch / f"paired-{at}", at % 2 == 1
            if not fresh:
                shutil.copytree(uninterrupted.with_name("begun"), path)
            work = (lambda: begin(path)) if fresh else (lambda: train_in(path) and None)
            logs = [scratch / f"said-{which}" for which in range(2)]
            first = Child(lambda: redirected(work, logs[0]))
            time.sleep(apart)
            second = Child(lambda: redirected(work, logs[1]))
            ended = [first.wait(), second.wait()]
            said = "".join(log.read_text() for log in logs)
            assert ended in ([0, 2], [2, 0], [0, 0]), f"they ended with {ended}: {said}"
            if 2 in ended:
                assert "another process works in" in said or "holds a run already" in said, said
                assert said.count("\n") == 1, said
            assert_same(path, uninterrupted)
            shutil.rmtree(path)

        return run

    return count(
        "two processes in one run folder",
        "one of them is refused in one line that says who holds it, and the run ends in the same weights and metrics",
        [(f"pair {at}", trial(at)) for at in range(times)],
    )


def diverged(uninterrupted: pathlib.Path, scratch: pathlib.Path) -> Count:
    """Each seed in turn loses its weights to nan in an early epoch; the others must not notice."""

    def trial(seed: int) -> Callable[[], None]:
        def spoil(path: pathlib.Path) -> None:
            folder = RunFolder(path)
            epoch, learners, _ = load_learners(folder, EXPERIMENT, EXPERIMENT.source())
            spoilt = np.array(learners.model.readout.bias)
            spoilt[seed] = np.nan
            readout = learners.model.readout
            object.__setattr__(readout, "bias", spoilt)
            folder.save_checkpoint(epoch, learners)

        def run() -> None:
            path = scratch / f"diverged-{seed}"
            shutil.copytree(uninterrupted.with_name("begun"), path)
            assert Child(lambda: spoil(path)).wait() == 0
            assert Child(lambda: train_in(path) and None).wait() == 0
            found, expected = weights(path), weights(uninterrupted)
            others = [one for one in range(EXPERIMENT.seeds) if one != seed]
            assert np.isnan(found["model.readout.bias"][seed]).all(), "it did not diverge"
            for name, array in found.items():
                assert array[others].tobytes() == expected[name][others].tobytes(), f"{name} of another seed differs"
            rows = [row for row in RunFolder(path).metrics() if row["seed"] != seed]
            assert rows == [row for row in RunFolder(uninterrupted).metrics() if row["seed"] != seed]

        return run

    return count(
        "a seed that diverges",
        "all other seeds end in the same weights and metrics as where it does not, bit for bit",
        [(f"seed {seed}", trial(seed)) for seed in range(EXPERIMENT.seeds)],
    )

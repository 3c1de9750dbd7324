"""Processes that are killed in the middle of a training, and seeds that diverge in the middle of others."""

import pathlib
import random
import shutil
import signal
import time
from collections.abc import Callable

import numpy as np

from benchmarks.reliability.trials import EPOCHS, EXPERIMENT, Child, Count, assert_same, count, train_in, weights
from lantm.training import RunFolder, load_learners


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

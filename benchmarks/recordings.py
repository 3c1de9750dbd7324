"""What recording costs a training: `python -m benchmarks.recordings --out results/recordings-cpu.json`.

Times are of this process: wall clock, and CPU seconds of all its threads, which other programs on the machine disturb
less. The first write compiles; the others are what a long training sees.
"""

import argparse
import dataclasses
import json
import pathlib
import tempfile
import time
from typing import Any, ClassVar

from lantm.devices import use_all_cores

use_all_cores()

from benchmarks.timing import command  # noqa: E402 (devices are settled first)
from lantm.paper import preset  # noqa: E402
from lantm.provenance import provenance  # noqa: E402
from lantm.training import Progress, RunFolder, loop, train  # noqa: E402
from lantm.training.recordings import Recorder  # noqa: E402


def now() -> tuple[float, float]:
    return time.perf_counter(), time.process_time()


def since(then: tuple[float, float]) -> tuple[float, float]:
    wall, cpu = now()
    return wall - then[0], cpu - then[1]


class Timed(Recorder):
    """A recorder that looks at the clock."""

    spent: ClassVar[list[tuple[float, float]]] = []  # by epoch
    _adding = False

    def add(self, epoch: int, models: Any, places: Any) -> None:
        then, self._adding = now(), True
        super().add(epoch, models, places)
        self._adding = False
        self.spent.append(since(then))

    def write(self) -> None:
        then = now()
        super().write()
        if not self._adding:  # what an epoch writes by itself is in its own time already
            wall, cpu = since(then)
            self.spent[-1] = (self.spent[-1][0] + wall, self.spent[-1][1] + cpu)


def measure(task: str, seeds: int, epochs: int) -> dict[str, Any]:
    """Trains, and compares what recording took with the whole, from the second test on."""
    experiment = preset(task, "lantm-invnorm", "paper")
    every = experiment.recipe.test_every
    recipe = dataclasses.replace(experiment.recipe, epochs=epochs)
    experiment = dataclasses.replace(experiment, recipe=recipe, seeds=seeds)
    Timed.spent.clear()
    marks: list[tuple[float, float]] = []
    with tempfile.TemporaryDirectory() as folder:
        run = RunFolder.create(pathlib.Path(folder) / "run", experiment, {})
        then = now()

        def watch(progress: Progress) -> None:
            if progress.report is not None:  # at the end of an epoch
                marks.append(since(then))

        recorder, loop.Recorder = loop.Recorder, Timed  # type: ignore[misc]
        try:
            train(experiment, run, watch=watch)
        finally:
            loop.Recorder = recorder  # type: ignore[misc]
        size = sum(path.stat().st_size for path in run.recordings_path.iterdir())
    training = [marks[-1][clock] - marks[every - 1][clock] for clock in (0, 1)]
    recording = [sum(spent[clock] for spent in Timed.spent[every:]) for clock in (0, 1)]
    return {
        "task": task,
        "seeds": seeds,
        "epochs": epochs,
        "first_write_seconds": round(max(spent[0] for spent in Timed.spent[:every]), 2),
        "first_write_cpu_seconds": round(max(spent[1] for spent in Timed.spent[:every]), 2),
        "epoch_milliseconds": round(1e3 * training[0] / (epochs - every), 2),
        "recording_milliseconds": round(1e3 * recording[0] / (epochs - every), 2),
        "percent": round(100 * recording[0] / training[0], 2),
        "percent_of_cpu_time": round(100 * recording[1] / training[1], 2),
        "bytes_an_epoch_a_seed": round(size / epochs / min(seeds, experiment.recorded_seeds)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", default="copy")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=80)
    parser.add_argument("--out", type=pathlib.Path, help="a JSON file to write")
    chosen = parser.parse_args()
    record = {
        "command": command("recordings"),
        **measure(chosen.task, chosen.seeds, chosen.epochs),
        **provenance(),
    }
    text = json.dumps(record, indent=2)
    if chosen.out:
        chosen.out.write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main()

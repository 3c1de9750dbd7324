"""`python -m benchmarks.soak`: does memory grow while machines are trained for long?

Trains without an end (tasks, or a text with --data) and notes the resident memory of the process every few seconds.
What counts is the growth from the end of the warm-up, a tenth of the time, to the end.
"""

import argparse
import dataclasses
import json
import pathlib
import tempfile
import time
from typing import Any

from lantm.paper import preset
from lantm.provenance import provenance
from lantm.training import Experiment, RunFolder, TextFiles, train

RESULTS = pathlib.Path(__file__).parent.parent / "results"
EVERY = 5.0  # seconds between two looks


def resident() -> float:
    """The resident memory of this process in megabytes."""
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise OSError("this system does not say how much memory a process takes")


class Looks:
    """Looks at the memory whenever it is called, though not more often than every few seconds."""

    def __init__(self, minutes: float):
        """Ends after so long."""
        self.began = time.monotonic()
        self.seconds = 60 * minutes
        self.seen: list[tuple[float, float]] = []

    def __call__(self, *_: Any) -> None:
        now = time.monotonic() - self.began
        if not self.seen or now - self.seen[-1][0] >= EVERY:
            self.seen.append((round(now, 1), round(resident(), 1)))

    def over(self) -> bool:
        return time.monotonic() - self.began >= self.seconds

    def record(self) -> dict[str, Any]:
        self.seen.append((round(time.monotonic() - self.began, 1), round(resident(), 1)))
        after = [(at, size) for at, size in self.seen if at >= self.seconds / 10]
        return {
            "minutes": round(self.seconds / 60, 2),
            "looks": len(self.seen),
            "after_warm_up_mb": after[0][1],
            "largest_mb": max(size for _, size in after),
            "at_the_end_mb": after[-1][1],
            "growth_mb": round(after[-1][1] - after[0][1], 1),
            "every_tenth": self.seen[:: max(1, len(self.seen) // 10)],
        }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60, help="how long (default 60)")
    parser.add_argument("--data", type=pathlib.Path, help="the folder of a text: language modelling instead of copy")
    parser.add_argument("--out", type=pathlib.Path, default=RESULTS / "soak.json", help="where the JSON goes")
    chosen = parser.parse_args()
    kind = "language" if chosen.data else "training"
    with tempfile.TemporaryDirectory() as folder:
        found = soak(_endless(chosen.data), pathlib.Path(folder) / "run", Looks(chosen.minutes))
    stored = json.loads(chosen.out.read_text()) if chosen.out.exists() else {}
    command = f"python -m benchmarks.soak --minutes {chosen.minutes:g}" + (" --data FOLDER" if chosen.data else "")
    stored[kind] = {"command": command, **provenance(), **found}
    chosen.out.write_text(json.dumps(stored, indent=2) + "\n")
    print(f"{kind}: {found['growth_mb']:+} MB after warm-up, {found['at_the_end_mb']} MB at the end")


def _endless(data: pathlib.Path | None) -> Experiment:
    """Copy by the recipe demo, or the paper's InvNorm machine on a text, for as many epochs as there can be."""
    if data is None:
        experiment = dataclasses.replace(preset("copy", "lantm-invnorm", "demo"), seeds=4)
    else:
        experiment = dataclasses.replace(preset("text", "lantm-invnorm"), text=TextFiles.of(data))
    return dataclasses.replace(experiment, recipe=dataclasses.replace(experiment.recipe, epochs=2**31 - 1))


def soak(experiment: Experiment, path: pathlib.Path, looks: Looks) -> dict[str, Any]:
    """Trains with tests, recordings, checkpoints and metrics, as long as the time allows."""
    run = RunFolder.create(path, experiment, {})
    result = train(experiment, run, watch=looks, stop=looks.over)
    return {"epochs": result.epoch, **looks.record()}


if __name__ == "__main__":
    main()

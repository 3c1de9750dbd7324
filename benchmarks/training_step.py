"""`python -m benchmarks.training_step`: what an update of a training takes, as results/bench-training-PLATFORM.json.

An update draws its problems, runs the machine forwards and backwards, and changes the weights. Updates are those of
real trainings: programs, lengths, noise and hard problems are the recipe's, late in its schedule. On a GPU, a profile
of one epoch says how many kernels an update starts and how long they run: what is left is the time between them.
"""

import argparse
import collections
import dataclasses
import glob
import json
import pathlib
import tempfile
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from rich.console import Console

from benchmarks.__main__ import RESULTS, table
from benchmarks.timing import command, interleaved
from lantm.devices import compiled_once, device_mesh
from lantm.paper.presets import preset
from lantm.provenance import provenance
from lantm.tasks import make_task
from lantm.training.learner import Learner
from lantm.training.material import Lessons, make_material
from lantm.training.programs import Programs
from lantm.training.starts import start

CASES = (
    "copy lantm-invnorm paper 1",
    "copy lantm-invnorm exact 8",
    "copy lantm-invnorm exact 60",
    "copy lantm-invnorm paper 128",
    "addition lantm-invnorm exact 8",
)
"""Task, model, recipe and the number of machines at once."""
LATE = 0.9
"""The share of the schedule that is over: every curriculum has reached all lengths."""


def _draw(lessons: Lessons, learner: Learner, data: Any, epoch: Any, first: Any, end: Any) -> Any:
    """The problems of an epoch and nothing else; their sums, so that nothing is left out."""

    def add(at: Any, total: Any) -> Any:
        drawn = lessons.take(data, learner.seed, epoch, at, learner.carried)
        leaves = [leaf for leaf in jax.tree.leaves(drawn) if not jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)]
        return total + sum(jnp.sum(leaf) for leaf in leaves)

    return jax.lax.fori_loop(first, end, add, jnp.zeros(()))


def prepare(case: str) -> tuple[int, dict[str, Callable[[], Any]]]:
    """The number of updates of an epoch, and what runs it."""
    task, model, recipe, machines = case.split()
    experiment = preset(task, model, recipe)
    recipe_of_one = dataclasses.replace(experiment.recipe, starts=1)
    experiment = dataclasses.replace(experiment, seeds=int(machines), recipe=recipe_of_one)
    source = make_task(task)
    material, mesh = make_material(experiment, source), device_mesh(experiment.machines)
    learners = start(experiment, source, material, mesh)
    epoch = jnp.asarray(int(LATE * experiment.recipe.epochs), jnp.int32)
    given = (learners, material.data, epoch, jnp.int32(0), jnp.int32(material.batches))
    programs = {
        "milliseconds": Programs.of(material.lessons, mesh).train,
        "drawing_alone": compiled_once(_draw, mesh, material.lessons),
    }
    compiled = {name: program.lower(*given).compile() for name, program in programs.items()}
    return material.batches, {name: lambda run=run: run(*given) for name, run in compiled.items()}


def profile(run: Callable[[], Any]) -> tuple[int, float, dict[str, tuple[int, float]]]:
    """How many kernels a call starts, the milliseconds that they run, and both by their names."""
    jax.block_until_ready(run())
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder):
            jax.block_until_ready(run())
        (path,) = glob.glob(f"{folder}/**/*.xplane.pb", recursive=True)
        planes = jax.profiler.ProfileData.from_file(path).planes
        by_name: dict[str, list[float]] = collections.defaultdict(list)
        for plane in planes:
            if "GPU" in plane.name:
                for line in plane.lines:
                    if line.name.startswith("Stream"):
                        for event in line.events:
                            by_name[event.name].append(event.duration_ns / 1e6)
    total = {name: (len(times), sum(times)) for name, times in by_name.items()}
    return sum(count for count, _ in total.values()), sum(time for _, time in total.values()), total


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.training_step", description=__doc__)
    parser.add_argument("--cases", nargs="+", default=CASES, help="such as 'copy lantm-invnorm exact 8'")
    parser.add_argument("--repetitions", type=int, default=8, help="timed epochs of each case (default 8)")
    parser.add_argument("--kernels", action="store_true", help="also print the kernels that take longest")
    parser.add_argument("--out", type=pathlib.Path, help="write the JSON here instead")
    chosen = parser.parse_args()
    console = Console()
    rows = []
    for case in chosen.cases:
        updates, programs = prepare(case)
        times = interleaved(programs, chosen.repetitions, warm_up=1)
        row: dict[str, Any] = {"case": case} | {name: round(time / updates, 3) for name, time in times.items()}
        if jax.default_backend() != "cpu":
            count, busy, by_name = profile(programs["milliseconds"])
            row |= {"kernels": round(count / updates), "busy_milliseconds": round(busy / updates, 3)}
            if chosen.kernels:
                longest = sorted(by_name.items(), key=lambda item: -item[1][1])[:14]
                for name, (number, time) in longest:
                    console.print(f"  {time / updates:8.4f} ms {number / updates:7.1f} x {name[:90]}", highlight=False)
        rows.append(row)
        console.print(row)
    console.print(table("per update", rows))
    record = {"command": command("training_step"), **provenance(), "repetitions": chosen.repetitions, "rows": rows}
    out = chosen.out or RESULTS / f"bench-training-{jax.default_backend()}.json"
    out.write_text(json.dumps(record, indent=2) + "\n")


if __name__ == "__main__":
    main()

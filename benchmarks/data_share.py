"""`python -m benchmarks.data_share`: how much of a training's time goes into making its problems.

Problems are drawn on the device, inside the compiled epoch, so nothing is ever waited for; but drawing takes time
too. An epoch is timed beside one that draws the same problems and does nothing else with them. Written to
results/data-share-PLATFORM.json.
"""

import argparse
import dataclasses
import json
import pathlib
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Int
from rich.console import Console
from rich.table import Table

from benchmarks.timing import command, interleaved
from lantm.devices import device_mesh, over_seeds, place, use_all_cores
from lantm.paper import PAPER_MODELS, preset
from lantm.provenance import provenance
from lantm.training import Experiment
from lantm.training.learner import begin, train_batches
from lantm.training.material import Material, make_material

RESULTS = pathlib.Path(__file__).parent.parent / "results"


def draw_epoch(material: Material, seed: Int[Array, ""], epoch: Int[Array, ""]) -> Int[Array, ""]:
    """The problems of an epoch, as training draws them, and a number that depends on all of them."""

    def step(total: Array, at: Array) -> tuple[Array, None]:
        batch = material.lessons.take(material.data, seed, epoch, at, None).problems
        return total + sum(jnp.sum(leaf, dtype="int32") for leaf in jax.tree.leaves(batch)), None

    return lax.scan(step, jnp.zeros((), jnp.int32), jnp.arange(material.batches))[0]


def measure(experiment: Experiment, repetitions: int) -> dict[str, Any]:
    """A row: milliseconds of an epoch, of drawing its problems alone, and what that is of the whole."""
    task, recipe = experiment.build_task(), experiment.recipe
    material = make_material(experiment, task)
    mesh = device_mesh(experiment.seeds)
    seeds = place(jnp.arange(experiment.seeds, dtype=jnp.int32), mesh)
    learners = over_seeds(partial(begin, experiment.machine, material.lessons, task.vocabulary), mesh)(seeds)
    train = over_seeds(partial(train_batches, material.lessons), mesh)
    draw = over_seeds(partial(draw_epoch, material), mesh)
    epoch, first, end = (jnp.asarray(number, jnp.int32) for number in (recipe.epochs, 0, recipe.batches))
    contenders = {
        "train": lambda: train(learners, material.data, epoch, first, end),
        "draw": lambda: draw(seeds, epoch),
    }
    times = interleaved(contenders, repetitions, warm_up=1)
    problems = recipe.batches * recipe.batch_size * experiment.seeds
    return {
        "task": experiment.task,
        "model": experiment.model,
        "seeds": experiment.seeds,
        "milliseconds_a_batch": round(times["train"] / recipe.batches, 3),
        "drawing_milliseconds_a_batch": round(times["draw"] / recipe.batches, 4),
        "drawing_percent": round(100 * times["draw"] / times["train"], 2),
        "problems_a_second": round(1000 * problems / times["train"], 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.data_share", description=__doc__)
    parser.add_argument("--task", default="programs", help="which task (default programs)")
    parser.add_argument(
        "--models", nargs="+", choices=PAPER_MODELS, default=PAPER_MODELS, help="which models (default: all)"
    )
    parser.add_argument("--seeds", type=int, default=8, help="seeds at once (default 8)")
    parser.add_argument("--batches", type=int, default=100, help="batches of a timed epoch (default 100)")
    parser.add_argument("--repetitions", type=int, default=5, help="rounds of interleaved timings (default 5)")
    parser.add_argument("--out", type=pathlib.Path, help="write here instead of results/data-share-PLATFORM.json")
    chosen = parser.parse_args()
    use_all_cores()
    rows = []
    for model in chosen.models:
        experiment = preset(chosen.task, model)
        recipe = dataclasses.replace(experiment.recipe, batches=chosen.batches)
        rows.append(measure(dataclasses.replace(experiment, recipe=recipe, seeds=chosen.seeds), chosen.repetitions))
    table = Table(title="drawing problems, as a share of training", title_justify="left")
    for name in rows[0]:
        table.add_column(name.replace("_", " "))
    for row in rows:
        table.add_row(*map(str, row.values()))
    Console().print(table)
    path = chosen.out or RESULTS / f"data-share-{jax.default_backend()}.json"
    record = {"command": command("data_share"), **provenance(), "repetitions": chosen.repetitions}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({**record, "rows": rows}, indent=1) + "\n")
    print(f"written to {path.name}")


if __name__ == "__main__":
    main()

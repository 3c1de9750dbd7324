"""`python -m benchmarks.language`: words a second while language models are trained, and the share of waiting.

The sizes are the paper's; the text is drawn at random, since speed does not depend on what it says.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import time
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.timing import command, interleaved
from lantm.devices import device_mesh, over_seeds
from lantm.evaluation import reading
from lantm.evaluation.cross_entropy import total_surprise
from lantm.paper import PAPER_MODELS, preset
from lantm.provenance import provenance
from lantm.tasks import Corpus, Text
from lantm.training import Learner
from lantm.training.learner import train_batches
from lantm.training.material import make_material
from lantm.training.starts import start

RESULTS = pathlib.Path(__file__).parent.parent / "results"
VOCABULARY, TOKENS = 10_000, 929_589  # of the Penn Treebank


def random_text(steps: int) -> Text:
    """As many words as the Penn Treebank has to train on; what is tested on does not matter here."""
    words = np.random.default_rng(0).zipf(1.2, TOKENS).astype(np.int64) % VOCABULARY
    names = ("<eos>", "<unk>", *(str(number) for number in range(VOCABULARY - 2)))
    return Text(Corpus(names, *(part.astype(np.int32) for part in (words, words[:1000], words[:1000]))), steps)


def throughput(model: str, seeds: int, pieces: int, calls: int) -> dict[str, Any]:
    """One model: the median of several calls, each of so many pieces."""
    experiment = dataclasses.replace(preset("text", model), seeds=seeds)
    recipe = experiment.recipe
    text = random_text(recipe.steps)
    began = time.perf_counter()
    material = make_material(experiment, text)
    jax.block_until_ready(material.data)
    loading = time.perf_counter() - began
    mesh = device_mesh(seeds)
    learners = start(experiment, text, material, mesh)
    compiled = over_seeds(partial(train_batches, material.lessons), mesh, donate_argnums=0)

    def read(learners: Learner, first: int, end: int) -> Learner:
        bounds = (jnp.asarray(number, jnp.int32) for number in (1, first, end))
        return jax.block_until_ready(compiled(learners, material.data, *bounds))

    began = time.perf_counter()
    learners = read(learners, 0, 2)
    compiling = time.perf_counter() - began
    at, busy = 2, []
    began = time.perf_counter()
    for _ in range(calls):
        called = time.perf_counter()
        learners = read(learners, at, at + pieces)
        busy.append(time.perf_counter() - called)
        at += pieces
    wall = time.perf_counter() - began
    piece = float(np.median(busy)) / pieces
    epoch = piece * material.batches
    assert np.isfinite(learners.losses[:, :at]).all()
    return {
        "name": model,
        "seeds": seeds,
        "milliseconds_a_piece": round(1e3 * piece, 2),
        "words_a_second": round(seeds * recipe.batch_size * recipe.steps / piece),
        "seconds_an_epoch": round(epoch, 1),
        # What is not spent inside compiled calls, and the text's way onto the device, once per training.
        "waiting_percent": round(100 * (wall - sum(busy) + loading) / (epoch + loading), 2),
        "compiling_seconds": round(compiling, 1),
    }


def parts(repetitions: int) -> list[dict[str, Any]]:
    """Where the time of one piece goes: the output layer, and the machines without it."""
    recipe = preset("text", "lstm").recipe
    words = jax.random.randint(jax.random.key(0), (recipe.steps, recipe.batch_size), 0, VOCABULARY)
    mask = jnp.ones(words.shape, bool)
    contenders = {}
    for model in PAPER_MODELS:
        machine = jax.jit(partial(preset("text", model).machine.build, VOCABULARY))(jax.random.key(0))
        carried = reading.begin(machine, recipe.batch_size, recipe.steps)

        def without_readout(machine: Any, carried: Any) -> Any:
            return jax.grad(lambda machine: jnp.sum(reading.read_piece(machine, words, carried, 1)[0]))(machine)

        contenders[f"{model} without the output layer"] = partial(jax.jit(without_readout), machine, carried)
    features = jax.random.normal(jax.random.key(1), (*words.shape, machine.config.cells))
    gradient = jax.jit(jax.grad(lambda readout, features: total_surprise(readout, features, words, mask), (0, 1)))
    contenders["the output layer"] = lambda: gradient(machine.readout, features)
    times = interleaved(contenders, repetitions)
    return [{"name": name, "milliseconds": round(taken, 2)} for name, taken in times.items()]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.language", description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1], help="how many at once, one row each (default 1)")
    parser.add_argument("--models", nargs="+", choices=PAPER_MODELS, default=PAPER_MODELS, help="which (default: all)")
    parser.add_argument("--pieces", type=int, default=20, help="pieces of 640 words per call (default 20)")
    parser.add_argument("--calls", type=int, default=5, help="calls that are timed (default 5)")
    parser.add_argument("--out", type=pathlib.Path, help="write here instead of results/language-speed-PLATFORM.json")
    chosen = parser.parse_args()
    record: dict[str, Any] = {"command": command("language"), **provenance()}
    record["load_before"] = round(os.getloadavg()[0], 1)  # on a CPU that others use, times say little
    record["configuration"] = {"vocabulary": VOCABULARY, "tokens": TOKENS, **vars(preset("text", "lstm").recipe)}
    record["training"] = [
        throughput(model, seeds, chosen.pieces, chosen.calls) for model in chosen.models for seeds in chosen.seeds
    ]
    record["parts"] = parts(chosen.calls)
    for name in ("training", "parts"):
        table = Table(title=name, title_justify="left")
        for column in record[name][0]:
            table.add_column(
                column.replace("_", " "), justify="left" if column == "name" else "right", no_wrap=column == "name"
            )
        for row in record[name]:
            table.add_row(*(f"{value:,}" if isinstance(value, int) else str(value) for value in row.values()))
        Console().print(table)
    path = chosen.out or RESULTS / f"language-speed-{jax.default_backend()}.json"
    path.write_text(json.dumps(record, indent=2) + "\n")
    print(f"written to {path.name}")


if __name__ == "__main__":
    main()

"""`python -m benchmarks.language`: words a second while language models are trained, and the share of waiting.

The sizes are the paper's; the text is drawn at random, since speed does not depend on what it says.
"""

import argparse
import json
import os
import pathlib
import time
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from lantm.experiments import MODELS, language_machine
from lantm.language import LanguageExperiment, LanguageRecipe
from lantm.language.learner import read_and_learn
from lantm.language.loop import start
from lantm.language.loss import total_surprise
from lantm.language.pieces import cut
from lantm.seeds import device_mesh, over_seeds
from rich.console import Console
from rich.table import Table

from benchmarks.timing import command, interleaved
from lantm.provenance import provenance

RESULTS = pathlib.Path(__file__).parent.parent / "results"
VOCABULARY, TOKENS = 10_000, 929_589  # of the Penn Treebank


def throughput(model: str, seeds: int, pieces: int, calls: int) -> dict[str, Any]:
    """One model: the median of several calls, each of so many pieces."""
    recipe = LanguageRecipe()
    experiment = LanguageExperiment("", "", VOCABULARY, model, language_machine(model), recipe, seeds=seeds)
    words = np.random.default_rng(0).zipf(1.2, TOKENS) % VOCABULARY
    began = time.perf_counter()
    text = jax.block_until_ready(cut(words, recipe.batch_size, recipe.steps, end=0))
    loading = time.perf_counter() - began
    mesh = device_mesh(seeds)
    learners = start(experiment, VOCABULARY, text.number, mesh)
    read = over_seeds(partial(read_and_learn, recipe.clip), mesh, donate_argnums=0)
    began = time.perf_counter()
    learners = jax.block_until_ready(read(learners, text, 0, 2))
    compiling = time.perf_counter() - began
    at, busy = 2, []
    began = time.perf_counter()
    for _ in range(calls):
        called = time.perf_counter()
        learners = jax.block_until_ready(read(learners, text, at, at + pieces))
        busy.append(time.perf_counter() - called)
        at += pieces
    wall = time.perf_counter() - began
    piece = float(np.median(busy)) / pieces
    epoch = piece * text.number
    assert np.isfinite(learners.surprises[:, :at]).all()
    return {
        "name": model,
        "seeds": seeds,
        "milliseconds_a_piece": round(1e3 * piece, 2),
        "words_a_second": round(seeds * recipe.batch_size * recipe.steps / piece),
        "seconds_an_epoch": round(epoch, 1),
        # What is not spent inside compiled calls, and the text's way onto the device, once a training.
        "waiting_percent": round(100 * (wall - sum(busy) + loading) / (epoch + loading), 2),
        "compiling_seconds": round(compiling, 1),
    }


def parts(repetitions: int) -> list[dict[str, Any]]:
    """Where the time of one piece goes: the output layer, and the machines without it."""
    from lantm.language import reading

    recipe = LanguageRecipe()
    words = jax.random.randint(jax.random.key(0), (recipe.steps, recipe.batch_size), 0, VOCABULARY)
    mask = jnp.ones(words.shape, bool)
    contenders = {}
    for model in MODELS:
        machine = jax.jit(partial(language_machine(model).build, VOCABULARY))(jax.random.key(0))
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
    parser.add_argument("--models", nargs="+", choices=MODELS, default=MODELS, help="which (default: all)")
    parser.add_argument("--pieces", type=int, default=20, help="pieces of 640 words a call (default 20)")
    parser.add_argument("--calls", type=int, default=5, help="calls that are timed (default 5)")
    parser.add_argument("--out", type=pathlib.Path, help="write here instead of results/language-speed-PLATFORM.json")
    chosen = parser.parse_args()
    record: dict[str, Any] = {"command": command("language"), **provenance()}
    record["load_before"] = round(os.getloadavg()[0], 1)  # on a CPU that others use, times say little
    record["configuration"] = {"vocabulary": VOCABULARY, "tokens": TOKENS, **vars(LanguageRecipe())}
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

"""Very long inputs: reads through the index beside full reads, in steps a second and in their answers.

python -m benchmarks.long_input --whole            a machine set by hand, which copies 100,000 symbols
python -m benchmarks.long_input --run runs/demo    a trained one
"""

import argparse
import dataclasses
import json
import pathlib
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.timing import interleaved
from examples.copy_by_hand import copy_machine
from lantm.errors import LantmError
from lantm.machine import Index, Lantm, infer
from lantm.provenance import provenance
from lantm.tasks import make_task
from lantm.trained import load

LENGTH = 100_000
SLICE = 1_000  # steps that are timed, half of them input


def trained(folder: pathlib.Path) -> Lantm:
    """The best machine of a run."""
    run = load(folder)
    model = run.model()
    if run.experiment.task != "copy" or not isinstance(model, Lantm):
        raise LantmError(f"{folder} is not a run of a Lie access machine on copy")
    return model


def against_full_reads(model: Lantm, lengths: tuple[int, ...], repetitions: int) -> list[dict[str, Any]]:
    """Rows: steps a second with a memory that has room for so many symbols, and how much faster the index is.

    A step costs the same however much of the memory is filled, so a slice of a run stands for the whole.
    """
    rows = []
    for length in lengths:
        batch = make_task("copy").sample(jax.random.key(0), 1, SLICE // 2 - 1, SLICE // 2 - 1)
        batch = dataclasses.replace(batch, write_capacity=length + 1)
        as_trained = jax.jit(lambda model, batch: jnp.argmax(model(batch).logits, axis=-1))
        contenders: dict[str, Callable[[], Any]] = {
            "as trained": lambda f=as_trained, batch=batch: f(model, batch),
            "in full": lambda batch=batch: infer(model, batch, None),
            "index": lambda batch=batch: infer(model, batch),
        }
        rates = {name: 1e3 * SLICE / taken for name, taken in interleaved(contenders, repetitions).items()}
        rows.append(
            {
                "memories": length + 1,
                "as_trained_steps_per_second": round(rates["as trained"]),
                "in_full_steps_per_second": round(rates["in full"]),
                "index_steps_per_second": round(rates["index"]),
                "index_by_as_trained": round(rates["index"] / rates["as trained"], 2),
                "index_by_in_full": round(rates["index"] / rates["in full"], 2),
            }
        )
    return rows


def whole_runs(model: Lantm, name: str, length: int, in_full: bool) -> list[dict[str, Any]]:
    """Rows: one problem from its first symbol to its last, through the index and, if asked for, with full reads."""
    batch = make_task("copy").sample(jax.random.key(0), 1, length, length)
    mask = np.asarray(batch.mask)
    rows: list[dict[str, Any]] = []
    answers = []
    for index in (Index(), None) if in_full else (Index(),):
        program = infer.lower(model, batch, index).compile()
        began = time.perf_counter()
        found = jax.device_get(program(model, batch))
        seconds = time.perf_counter() - began
        answers.append(found.predictions[mask])
        rows.append(
            {
                "name": f"{name}, {'in full' if index is None else 'index'}",
                "steps": int(batch.steps),
                "seconds": round(seconds, 2),
                "steps_per_second": round(int(batch.steps) / seconds),
                "largest_bound": float(found.bounds.max()),
                "full_reads": int(found.full_reads),
                "answers": int(mask.sum()),
                "right": int(np.sum(answers[-1] == np.asarray(batch.targets)[mask])),
                "other_than_index": int(np.sum(answers[-1] != answers[0])),
            }
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.long_input", description=__doc__.splitlines()[0])
    parser.add_argument("--run", type=pathlib.Path, help="a run of copy to take weights from (default: set by hand)")
    parser.add_argument("--length", type=int, default=LENGTH, help=f"symbols of input (default {LENGTH:,})")
    parser.add_argument("--whole", action="store_true", help="a whole run with full reads too: about a minute")
    parser.add_argument("--repetitions", type=int, default=5, help="rounds of interleaved timings (default 5)")
    parser.add_argument("--json", action="store_true", help="print JSON on standard output")
    chosen = parser.parse_args()
    model = copy_machine() if chosen.run is None else trained(chosen.run)
    name = "set by hand" if chosen.run is None else "trained"
    shorter = tuple(length for length in (1_000, 10_000) if length < chosen.length)
    tables = {
        "rates": against_full_reads(model, (*shorter, chosen.length), chosen.repetitions),
        "whole_runs": whole_runs(model, name, chosen.length, chosen.whole),
    }
    if chosen.json:
        print(json.dumps(provenance() | tables, indent=2))
        return
    for rows in tables.values():
        table = Table(*(column.replace("_", " ") for column in rows[0]))
        for row in rows:
            table.add_row(*map(str, row.values()))
        Console().print(table)


if __name__ == "__main__":
    main()

"""`python -m benchmarks.kernel_parity`: the compiled GPU kernels against the loops, as results/kernel-parity.json.

A case is a machine; its loss and gradients by the kernels, with products in full precision and in TF32, are compared
with those by the loops in double precision. Every geometry meets every weighting, and the numbers of heads and the
sizes take turns; and every geometry meets the switches of the recipe `exact`. Compiling takes most of the time, so
every case has a process of its own, several at once. The file is written after every case; rerun to continue after an
interruption.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import jax
import numpy as np
from rich.console import Console

from benchmarks.__main__ import RESULTS, table
from benchmarks.recipe_batch import loss_and_gradients
from benchmarks.timing import command
from lantm.machine import Backend, LantmConfig
from lantm.provenance import provenance
from lantm.tasks import make_task

GEOMETRIES = (
    *("translation", "translation-1", "translation-3", "translation-8", "rotation", "scaling-rotation"),
    *("se2", "sphere", "disk", "hyperbolic-3"),
)
WEIGHTINGS = ("invnorm", "softmax", "invnorm[power=2]")
HEADS = ((1, 1), (2, 1), (1, 2), (2, 2))  # read heads and write heads
SIZES = ((50, 20), (100, 20), (128, 128))  # cells and the width of the memory
BATCHES = (32, 20)  # of which the second does not fill its last block
PRECISIONS = ("highest", "tensorfloat32")
# Rounding alone, over a few dozen steps: of float32, and of products in TF32, which has 10 bits.
TOLERANCES = {"highest": 1e-3, "tensorfloat32": 5e-2}
AS_WRONG_AS_ROUNDING = 10  # where rounding alone does more, the kernels may be off by this many times as much
ROUNDING = {"highest": 2.0**-24, "tensorfloat32": 2.0**-11}
NUDGES = 8
_FOUND = tuple(prefix + name for prefix in ("", "loops, ", "nudged, ") for name in PRECISIONS)
# With a bound that the cells of fresh machines reach.
EXACT = {"settle_reads": True, "cell_bound": 0.2, "controller_overshoot": 0.1, "settle_cells": 0.02, "write_end": True}


def cases() -> Iterator[dict[str, Any]]:
    """Every geometry with every weighting; 4 numbers of heads and 3 sizes, in step, meet all of them."""
    for other, weighting in enumerate(WEIGHTINGS):  # so the first third of them has every geometry
        for number, geometry in enumerate(GEOMETRIES):
            yield _case(geometry, weighting, number + other, number + 2 * other)
    for number, geometry in enumerate(GEOMETRIES):
        yield _case(geometry, WEIGHTINGS[number % len(WEIGHTINGS)], number + 1, number) | EXACT


def _case(geometry: str, weighting: str, heads: int, size: int) -> dict[str, Any]:
    read_heads, write_heads = HEADS[heads % len(HEADS)]
    cells, memory_width = SIZES[size % len(SIZES)]
    return {
        "geometry": geometry,
        "weighting": weighting,
        "read_heads": read_heads,
        "write_heads": write_heads,
        "cells": cells,
        "memory_width": memory_width,
        "batch": BATCHES[heads % len(BATCHES)],
    }


def small(case: dict[str, Any]) -> dict[str, Any]:
    """The same with sizes that can be emulated in a moment."""
    return {**case, "cells": 6, "memory_width": 4, "batch": 17}


def run(
    case: dict[str, Any],
    length: int,
    backend: Backend,
    precision: str,
    double: bool = False,
    nudges: Sequence[float] = (0.0,),
) -> list[Any]:
    """The loss of fresh copy problems and its gradient, of the same float32 weights also where it is in double.

    Once for every nudge: every weight is then off by a random share of itself, up to that.
    """
    task = make_task("copy")
    config = LantmConfig(**{name: value for name, value in case.items() if name != "batch"})
    model = config.build(task.vocabulary, jax.random.key(0))
    batch = task.sample(jax.random.key(1), case["batch"], length, length)
    with jax.default_matmul_precision(precision), jax.enable_x64(double):
        if double:
            model = jax.tree.map(lambda weight: np.asarray(weight, np.float64), model)
        compiled = jax.jit(lambda model, batch: loss_and_gradients(model, batch, backend))
        random = np.random.default_rng(0)
        found = []
        for nudge in nudges:
            moved = jax.tree.map(lambda weight: weight * (1 + nudge * random.uniform(-1, 1, weight.shape)), model)  # noqa: B023
            found.append(jax.device_get(compiled(moved if nudge else model, batch)))
        return found


def errors(found: Any, expected: Any) -> dict[str, Any]:
    """Of the loss and of the gradient: the largest error of any array, in units of its largest number."""
    (loss, gradient), (true_loss, true_gradient) = found, expected
    worst, where = 0.0, ""
    for (place, ours), theirs in zip(
        jax.tree_util.tree_leaves_with_path(gradient), jax.tree.leaves(true_gradient), strict=True
    ):
        error = float(np.max(np.abs(ours - theirs)) / np.max(np.abs(theirs)))
        if not error <= worst:  # so that a NaN counts as the worst
            worst, where = error, jax.tree_util.keystr(place, simple=True, separator=".")
    return {"loss": float(abs(loss / true_loss - 1)), "gradient": worst, "worst_array": where}


def compare(case: dict[str, Any], length: int, backend: Backend) -> dict[str, Any]:
    """The case with its errors under each precision.

    A gradient can be as sensitive as it likes where a read key all but meets a memory, as often in one dimension, or
    where a head hardly settles. So the loops' own errors in float32 are given too: what rounding alone does. Where the
    kernels are off by far more, so may be the loops with weights that differ in their last digit: then the largest
    such error of a few is given as well.
    """
    (expected,) = run(case, length, "loops", "highest", double=True)
    found = dict(case)
    for prefix, chosen in (("", backend), ("loops, ", "loops")):
        for name in PRECISIONS:
            found[prefix + name] = errors(run(case, length, chosen, name)[0], expected)
    for name in PRECISIONS:
        if not all(within(found, name, kind) for kind in ("loss", "gradient")):
            found[f"nudged, {name}"] = nudged(case, length, name, expected)
    return found


def nudged(case: dict[str, Any], length: int, precision: str, expected: Any) -> dict[str, Any]:
    """The largest errors of the loops in double precision with weights that are off as by rounding."""
    moved = run(case, length, "loops", "highest", double=True, nudges=[ROUNDING[precision]] * NUDGES)
    each = [errors(one, expected) for one in moved]
    worst = max(each, key=lambda one: one["gradient"])
    return {**worst, "loss": max(one["loss"] for one in each)}


def within(compared: dict[str, Any], precision: str, kind: str) -> bool:
    """Whether the kernels' error is one that rounding accounts for."""
    rounding = [
        compared[name][kind] for prefix in ("loops", "nudged") if (name := f"{prefix}, {precision}") in compared
    ]
    allowed = max(TOLERANCES[precision], AS_WRONG_AS_ROUNDING * max(rounding))
    return bool(compared[precision][kind] < allowed)


def row(compared: dict[str, Any]) -> dict[str, Any]:
    """A row of the table that is printed."""
    heads = f"{compared['read_heads']} + {compared['write_heads']}" + ", exact" * bool(compared.get("settle_reads"))
    found = {
        f"{name}, {kind}": f"{compared[name][kind]:.1e} ({compared[f'loops, {name}'][kind]:.1e})"
        for name in PRECISIONS
        for kind in ("loss", "gradient")
    }
    return {"name": f"{compared['geometry']}, {compared['weighting']}", "heads": heads, **found}


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kernel_parity", description=__doc__)
    parser.add_argument("--length", type=int, default=16, help="symbols to copy (default 16)")
    parser.add_argument("--workers", type=int, default=4, help="cases that are compared at once (default 4)")
    parser.add_argument("--case", type=int, help="compare one case, by its number, and print it as JSON; not saved")
    parser.add_argument("--emulate", action="store_true", help="small machines, emulated on a CPU; not saved")
    parser.add_argument("--out", type=pathlib.Path, default=RESULTS / "kernel-parity.json", help="the JSON to write")
    chosen = parser.parse_args(arguments)
    if chosen.case is not None:
        case = list(cases())[chosen.case]
        case, backend = (small(case), "emulated") if chosen.emulate else (case, "kernel")
        print(json.dumps(compare(case, chosen.length, backend)))
        return
    origin = {"command": command("kernel_parity"), **provenance(), "length": chosen.length}
    compared = [] if chosen.emulate else _already_compared(chosen.out, origin)
    done = [{name: one[name] for name in one if name not in _FOUND} for one in compared]
    left = [number for number, case in enumerate(cases()) if case not in done]
    failed: list[str] = []
    with concurrent.futures.ThreadPoolExecutor(chosen.workers) as workers:
        running = [workers.submit(_in_a_process, number, chosen.length, chosen.emulate) for number in left]
        for ended in concurrent.futures.as_completed(running):
            if error := ended.exception():
                failed.append(getattr(error, "stderr", None) or str(error))
                print(f"a case failed: {failed[-1].strip().splitlines()[-1]}", flush=True)
                continue
            compared.append(ended.result())
            print(row(compared[-1]), flush=True)
            if not chosen.emulate:
                chosen.out.parent.mkdir(parents=True, exist_ok=True)
                chosen.out.write_text(json.dumps({**origin, "cases": compared}, indent=2) + "\n")
    Console().print(
        table(
            "largest relative errors of the kernels (of the loops, in the same precision)",
            [row(one) for one in compared],
        )
    )
    worst = {name: np.max([one[name]["gradient"] for one in compared]) for name in PRECISIONS}
    print(", ".join(f"worst gradient under {name}: {error:.1e}" for name, error in worst.items()))
    if failed:
        sys.exit(f"{len(failed)} cases failed:\n{failed[0]}")


def _in_a_process(number: int, length: int, emulate: bool) -> dict[str, Any]:
    flags = ["--case", str(number), "--length", str(length), *(["--emulate"] if emulate else [])]
    # They share the GPU's memory, and run for milliseconds: searching for fast kernels would take minutes.
    flags_of_xla = os.environ.get("XLA_FLAGS", "") + " --xla_gpu_autotune_level=0"
    environment = {**os.environ, "XLA_PYTHON_CLIENT_PREALLOCATE": "false", "XLA_FLAGS": flags_of_xla}
    ended = subprocess.run(
        [sys.executable, "-m", "benchmarks.kernel_parity", *flags],
        capture_output=True, text=True, check=True, env=environment,
    )  # fmt: skip
    found: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    return found


def _already_compared(path: pathlib.Path, origin: dict[str, Any]) -> list[dict[str, Any]]:
    """What an interrupted run of the same commit, device and length has left."""
    if not path.exists():
        return []
    record = json.loads(path.read_text())
    same = all(record.get(name) == origin[name] for name in ("commit", "device", "jax", "length"))
    return list(record["cases"]) if same else []


if __name__ == "__main__":
    main()

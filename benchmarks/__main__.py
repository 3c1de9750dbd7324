"""`python -m benchmarks`: all rows in one run, as tables and as results/bench-*.json."""

import argparse
import json
import pathlib
from collections.abc import Callable
from typing import Any

import jax
from rich.console import Console
from rich.table import Table

from benchmarks import long_input, recipe_batch
from lantm.devices import keep_memory
from lantm.provenance import provenance

TABLES = ("batch", "mechanisms", "exact_length", "seeds", "length", "long_input")
RESULTS = pathlib.Path(__file__).parent.parent / "results"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--repetitions", type=int, default=20, help="timed runs of each contender, in interleaved turns (default 20)"
    )
    parser.add_argument("--quick", action="store_true", help="a minute, not ten: short lengths, few seeds; not saved")
    parser.add_argument("--only", nargs="+", choices=TABLES, default=TABLES, help="which tables (default: all)")
    parser.add_argument("--longest", type=int, default=4096, help="the longest length timed (default 4096)")
    parser.add_argument("--out", type=pathlib.Path, help="write the JSON here instead of results/bench-PLATFORM.json")
    chosen = parser.parse_args()
    platform = jax.default_backend()
    keep_memory()  # as commands do; PyTorch has the same allocator
    lengths = (64, 128) if chosen.quick else (64, 128, 256, 512, 1024, 2048, 4096)
    lengths = tuple(length for length in lengths if length <= chosen.longest)
    memories = (1_000,) if chosen.quick else (1_000, 10_000, long_input.LENGTH)
    seeds = (1, 2) if chosen.quick else (1, 2, 8, 32, 128)
    makers: dict[str, tuple[str, Callable[[], list[dict[str, Any]]]]] = {
        "batch": (
            "copy, 32 problems of 130 steps, forward and backward",
            lambda: recipe_batch.against_torch(chosen.repetitions),
        ),
        "mechanisms": (
            "the same step with what keeps machines exact (docs/exact.md)",
            lambda: recipe_batch.against_mechanisms((1,) if platform == "cpu" else (1, 128), chosen.repetitions),
        ),
        "exact_length": (
            "one program, lengths given at run time",
            lambda: recipe_batch.against_exact_length((8, 16, 33, 64), chosen.repetitions),
        ),
        "seeds": ("runs at once", lambda: recipe_batch.against_seeds(seeds, chosen.repetitions)),
        "length": (
            "time and peak memory against length",
            lambda: recipe_batch.against_length(lengths, chosen.repetitions, plain_up_to=512),
        ),
        "long_input": (
            "steps a second with so many memories: as trained, in full, and through the index",
            lambda: long_input.against_full_reads(long_input.copy_machine(), memories, min(5, chosen.repetitions)),
        ),
    }
    record: dict[str, Any] = {"command": "make bench", **provenance(), "repetitions": chosen.repetitions}
    for name in chosen.only:
        title, make = makers[name]
        record[name] = make()
        Console().print(table(title, record[name]))
        if name == "long_input" and not chosen.quick:
            record["long_input_whole"] = long_input.whole_runs(
                long_input.copy_machine(), "set by hand", long_input.LENGTH, in_full=True
            )
            Console().print(table("one copy from its first symbol to its last", record["long_input_whole"]))
    if chosen.out or not chosen.quick:
        path = chosen.out or RESULTS / f"bench-{platform}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(record, indent=2) + "\n")
        print(f"written to {path.name}")


def table(title: str, rows: list[dict[str, Any]]) -> Table:
    table = Table(title=title, title_justify="left")
    for name in rows[0]:
        table.add_column(name.replace("_", " "), justify="left" if name == "name" else "right")
    for row in rows:
        table.add_row(*("" if value is None else f"{value}" for value in row.values()))
    return table


if __name__ == "__main__":
    main()

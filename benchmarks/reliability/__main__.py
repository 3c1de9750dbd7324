"""`python -m benchmarks.reliability`: faults, one after the other, counted into results/reliability.json."""

import argparse
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import Any

RESULTS = pathlib.Path(__file__).parent.parent.parent / "results"
# In a process of its own: it begins JAX, and this process has still to fork.
_PROVENANCE = "import json; from lantm.provenance import provenance; print(json.dumps(provenance()))"
FAULTS = ("kills", "pairs", "diverging", "power", "weights", "unwritable", "malformed", "ray")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reliability", description=__doc__)
    parser.add_argument(
        "--kills", type=int, default=100, help="kills, half of them in start-up and writes (default 100)"
    )
    parser.add_argument("--pairs", type=int, default=20, help="pairs of processes in one folder (default 20)")
    parser.add_argument("--inputs", type=int, default=10_000, help="malformed inputs in all (default 10,000)")
    parser.add_argument("--flips", type=int, default=1000, help="flipped bits (default 1,000)")
    parser.add_argument("--workers", type=int, default=3, help="Ray workers killed (default 3)")
    parser.add_argument("--nodes", type=int, default=2, help="Ray nodes removed (default 2)")
    parser.add_argument("--only", nargs="+", choices=FAULTS, default=FAULTS, help="which faults (default: all)")
    parser.add_argument("--out", type=pathlib.Path, default=RESULTS / "reliability.json", help="where the JSON goes")
    chosen = parser.parse_args()
    if commit := origin()["commit"]:
        os.environ.setdefault("LANTM_COMMIT", commit)  # the first count that is written changes the checkout
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="reliability-"))
    # Compiling takes most of the time: all processes share what one has compiled.
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(scratch / "compiled"))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.1")
    failed = False
    try:
        for found in faults(chosen, scratch):
            one = found._asdict()
            print(f"{one['survived']:>7,} of {one['tried']:<7,} {one['fault']}", *one["problems"], sep="\n          ")
            sys.stdout.flush()
            write(chosen.out, one)
            failed |= one["survived"] < one["tried"]
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    print(f"written to {chosen.out}")
    return int(failed)


def faults(chosen: argparse.Namespace, scratch: pathlib.Path) -> Iterator[Any]:
    """The counts, one after the other. What forks comes first: once JAX has threads, this process must not."""
    from benchmarks.reliability import kills

    base, begun = scratch / "uninterrupted", scratch / "begun"
    took = prepare(base, begun)
    if "kills" in chosen.only:
        quarter = max(1, chosen.kills // 4)
        yield kills.killed(max(1, chosen.kills - 2 * quarter), base, took, scratch)
        yield kills.killed_at_start(quarter, base, scratch)
        yield kills.killed_in_writes(quarter, base, scratch)
    if "pairs" in chosen.only:
        yield kills.paired(chosen.pairs, base, scratch)
    if "diverging" in chosen.only:
        yield kills.diverged(base, scratch)
    from benchmarks.reliability import cluster, files, malformed

    if "unwritable" in chosen.only:
        yield files.unwritable(begun, base, scratch)
    if "power" in chosen.only:
        yield files.power_lost(base, scratch)
    if "weights" in chosen.only:
        yield files.bad_weights(chosen.flips, base, scratch)
    if "malformed" in chosen.only:
        yield from malformed.malformed(chosen.inputs, scratch)
    if "ray" in chosen.only:
        if importlib.util.find_spec("ray"):
            yield cluster.lost(chosen.workers, chosen.nodes, scratch)
        else:
            print("Ray is not installed, and was not tried: pip install 'lantm[ray]'")


def prepare(base: pathlib.Path, begun: pathlib.Path) -> float:
    """The uninterrupted run, and one that was ended after 10 epochs; the seconds that the former takes."""
    from benchmarks.reliability.trials import EXPERIMENT, Child, train_in
    from lantm.training import RunFolder, train

    def begin() -> None:
        seen: list[int] = []
        folder = RunFolder.create(begun, EXPERIMENT, {})
        train(EXPERIMENT, folder, watch=lambda progress: seen.append(1), stop=lambda: len(seen) >= 10)

    assert Child(begin).wait() == 0
    started = time.monotonic()  # everything is compiled by now but the last test
    assert Child(lambda: train_in(base) and None).wait() == 0
    return time.monotonic() - started


def origin() -> dict[str, Any]:
    """What the counts are of: commit, versions, device, date."""
    found: dict[str, Any] = json.loads(subprocess.check_output([sys.executable, "-c", _PROVENANCE], text=True))
    return found


def write(path: pathlib.Path, found: dict[str, Any]) -> None:
    """Puts a count into the file, in the place of an earlier one; what was not tried this time stays."""
    faults = json.loads(path.read_text())["faults"] if path.exists() else []
    stored = {one["fault"]: one for one in faults} | {found["fault"]: {**found, "made": origin()}}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"command": "make reliability", "faults": [*stored.values()]}, indent=2) + "\n")


if __name__ == "__main__":
    raise SystemExit(main())

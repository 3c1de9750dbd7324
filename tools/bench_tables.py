"""The tables of what one step of training costs, from results/bench-*.json."""

import json
import pathlib
from typing import Any

from study_tables import table

_THREADS = ", threads "


def everything(root: pathlib.Path) -> str:
    """A step on a CPU beside others' steps, its memory, many runs on a GPU, and reads of very long inputs."""
    cpu = _result(root, "cpu")
    parts = [_beside_others(cpu), _memory(cpu), _long_inputs(cpu)]
    if (root / "results" / "bench-gpu.json").exists():
        parts.append(_many_runs(_result(root, "gpu")))
    return "\n\n".join(parts)


def _beside_others(cpu: dict[str, Any]) -> str:
    """Every contender with one thread and with two, as a multiple of ours in the same rounds."""
    groups = sorted({row["group"] for row in cpu["batch"]})
    found = {(row["name"].partition(_THREADS)[0], row["group"]): row for row in cpu["batch"]}
    names = dict.fromkeys(name for name, _ in found)
    rows = [
        [name, *(f"{found[name, group][field]:{form}}" for group in groups for field, form in _COLUMNS)]
        for name in names
    ]
    head = [""]
    for group in groups:
        head += [f"threads {group}: ms", "times ours", "singly: times ours"]
    what = (
        "Copy, 32 problems of 130 steps, forward and backward, on two CPU cores. In turns of four runs after four that "
        "are not timed, as a training takes its steps; and singly, in alternation:"
    )
    return f"{what}\n\n{table(head, rows)}{_origin('cpu', cpu)}"


_COLUMNS = (("milliseconds", ".1f"), ("ratio", ".2f"), ("singly_ratio", ".2f"))


def _memory(cpu: dict[str, Any]) -> str:
    first, last = cpu["length"][0], next(row for row in cpu["length"] if row["length"] == 1024)
    ours = last["peak_megabytes"] / first["peak_megabytes"]
    plain = last["plain_peak_megabytes"] / first["plain_peak_megabytes"]
    return (
        f"From length 64 to 1,024 the step's peak memory grows {ours:.1f} times, with plain autodiff {plain:.0f} times."
    )


def _long_inputs(cpu: dict[str, Any]) -> str:
    index, full = cpu["long_input_whole"]
    right = "all" if index["right"] == index["answers"] else f"{index['right']:,} of {index['answers']:,}"
    same = "the same answers" if full["other_than_index"] == 0 else f"{full['other_than_index']:,} other answers"
    return (
        f"A copy of {index['answers'] - 1:,} symbols, {index['steps']:,} steps in all, takes {index['seconds']:.1f} s "
        f"with an index over the keys ({index['steps_per_second']:,} steps a second, {right} right), and "
        f"{full['seconds']:.1f} s with reads over all memories: "
        f"{full['seconds'] / index['seconds']:.1f} times as long, {same}."
    )


def _many_runs(gpu: dict[str, Any]) -> str:
    rows = [
        [f"{row['seeds']}", f"{row['milliseconds']:.1f}", f"{row['without_kernels']:.1f}", f"{row['times_one']:.2f}"]
        for row in gpu["seeds"]
    ]
    head = ["runs at once", "ms", "in the loops, without kernels: ms", "relative to one run"]
    return f"The same step on a GPU, for many runs (seeds) at once:\n\n{table(head, rows)}{_origin('gpu', gpu)}"


def _result(root: pathlib.Path, platform: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((root / "results" / f"bench-{platform}.json").read_text())
    return found


def _origin(platform: str, record: dict[str, Any]) -> str:
    path = f"results/bench-{platform}.json"
    return f"\n\n<sub>[{path}](../{path}), {record['date'][:10]}, {record['device']}</sub>"

"""Ray clusters that lose workers and nodes in the middle of a sweep."""

import contextlib
import json
import os
import pathlib
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.reliability.trials import Count, count, wait_until
from lantm.grids import Event, GridFolder, InProcess, Sweep, missing, pack
from lantm.grids.ray_engine import RayEngine

SWEEP = Sweep.from_json(
    {
        "seeds": 2,
        "scales": [1],
        "problems": 32,
        "pack": 2,
        "experiment": {
            "task": "copy",
            "lengths": [2, 4],
            "epochs": 300,
            "batches": 2,
            "batch_size": 4,
            "test_every": 5,
            "test_batches": 2,
            "cells": 6,
            "embedding": 3,
            "memory_width": 3,
        },
        "grid": {"learning_rate": [0.005, 0.01, 0.02]},
    }
)


def records(folder: GridFolder) -> dict[str, Any]:
    """All records, less what says where and when."""
    found = {path.stem: json.loads(path.read_text()) for path in (folder.path / "records").glob("*.json")}
    return {name: {key: value for key, value in one.items() if key != "made"} for name, one in found.items()}


def lost(workers: int, nodes: int, scratch: pathlib.Path) -> Count:
    """Workers killed, nodes removed, each in the middle of a sweep of its own."""
    import ray
    from ray.cluster_utils import Cluster

    expected = GridFolder(scratch / "expected")
    _sweep(InProcess(), expected)

    @contextlib.contextmanager
    def cluster(nodes: int) -> Iterator[Any]:
        made = Cluster(initialize_head=True, head_node_args={"num_cpus": 0 if nodes else 2, "include_dashboard": False})
        try:
            for _ in range(nodes):
                made.add_node(num_cpus=1)
            ray.init(address=made.address, logging_level="ERROR", log_to_driver=False)
            yield made
        finally:
            ray.shutdown()
            made.shutdown()

    def trial(name: str, nodes: int, strike: Callable[[Any], None]) -> Callable[[], None]:
        def run() -> None:
            folder = GridFolder(scratch / name)
            with cluster(nodes) as made:
                struck: list[str] = []

                def act() -> None:
                    wait_until(lambda: any(20 < epoch < 250 for epoch in _epochs(folder)))
                    strike(made)
                    struck.append(name)

                thread = threading.Thread(target=act)
                thread.start()
                events = _sweep(RayEngine(), folder)
                thread.join()
            assert struck, "nothing was killed"
            assert [event.state for event in events if event.state != "running"] == ["done"] * 3
            assert records(folder) == records(expected), "records are missing, doubled or different"

        return run

    trials = [(f"worker {at}", trial(f"worker-{at}", 0, lambda made: _kill_worker())) for at in range(workers)]
    trials += [(f"node {at}", trial(f"node-{at}", 2, _remove_node)) for at in range(nodes)]
    return count(
        "a Ray worker killed, a Ray node removed in the middle of a sweep",
        "the sweep ends complete, with the records of a sweep in one process, each once",
        trials,
    )


def _sweep(engine: Any, folder: GridFolder) -> list[Event]:
    events: list[Event] = []
    with folder.locked():
        folder.begin(SWEEP.to_json())
        engine.run(missing(folder, SWEEP.points(), SWEEP.pack), folder, events.append, lambda: False)
    return events


def _epochs(folder: GridFolder) -> list[int]:
    return [folder.run(group.run_name).last_epoch() for group in pack(SWEEP.points(), SWEEP.pack)]


def _kill_worker() -> None:
    """kill -9 of one worker that is at work, among the processes that this one has started."""
    parents: dict[int, int] = {}
    titles: dict[int, str] = {}
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError):
            parents[int(process.name)] = int((process / "stat").read_text().rpartition(")")[2].split()[1])
            titles[int(process.name)] = (process / "cmdline").read_text()

    def ours(pid: int) -> bool:
        while pid in parents and pid != os.getpid():
            pid = parents[pid]
        return pid == os.getpid()

    working = [pid for pid, title in titles.items() if title.startswith("ray::_on_worker") and ours(pid)]
    assert working, "no worker of ours is at work"
    os.kill(working[0], signal.SIGKILL)


def _remove_node(made: Any) -> None:
    """One of two nodes is gone without a word, with all that runs on it; the other has to do the rest."""
    made.remove_node(made.list_all_nodes()[-1], allow_graceful=False)

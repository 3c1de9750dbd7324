"""Ray: the groups of a sweep as tasks on the machines of a cluster, or on the cores and GPUs of this one.

The sweep folder has to be the same on all machines (a shared file system): a group whose worker or node dies is
given to another, which goes on from the last checkpoint there.
"""

import contextlib
import json
import os
import pathlib
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from lantm.errors import LantmError
from lantm.sweeps.engine import Engine, Event, attempt
from lantm.sweeps.folder import SweepFolder
from lantm.sweeps.packing import Group

RETRIES = 10
"""How often a group is given to another worker before it counts as failed."""
_LOOK = 1.0  # seconds between two looks at what has become of the tasks


class RayEngine(Engine):
    """On a Ray cluster, or a local one where no address is given."""

    def __init__(self, address: str | None = None, cpus: int = 1, gpus: float | None = None):
        """Each group gets so many cores and GPUs; by default one GPU where the cluster has any."""
        self._address = address
        self._cpus = cpus
        self._gpus = gpus

    def run(
        self,
        groups: Sequence[Group],
        folder: SweepFolder,
        tell: Callable[[Event], None],
        stop: Callable[[], bool],
    ) -> None:
        ray = load_ray()
        began = not ray.is_initialized()
        if began:
            _connect(ray, self._address)
        try:
            task = ray.remote(_on_worker).options(**self._resources(ray), max_retries=RETRIES)
            path = str(folder.path.resolve())
            tasks = {task.remote(json.dumps(group.to_json()), path, self._cpus): group for group in groups}
            epochs: dict[str, int] = {}
            while tasks:
                finished, _ = ray.wait(list(tasks), num_returns=1, timeout=_LOOK)
                for reference in finished:
                    tell(_outcome(ray, reference, tasks.pop(reference), folder))
                for group in tasks.values():
                    epoch = folder.epoch(group)
                    if epoch != epochs.setdefault(group.name, epoch):
                        tell(Event(group, "running", epoch))
                        epochs[group.name] = epoch
                if stop() and not folder.asked_to_stop():
                    folder.asked_to_stop(True)
        finally:
            if began:
                ray.shutdown()
            folder.asked_to_stop(False)

    def _resources(self, ray: Any) -> dict[str, float]:
        there = ray.cluster_resources()
        gpus = self._gpus if self._gpus is not None else min(1, there.get("GPU", 0))
        for kind, asked in (("CPU", self._cpus), ("GPU", gpus)):
            if asked > there.get(kind, 0):
                raise LantmError(f"a group asks for {asked:g} {kind}, the Ray cluster has {there.get(kind, 0):g}")
        return {"num_cpus": self._cpus, "num_gpus": gpus}


def load_ray() -> Any:
    """Ray, or one line that says how to get it."""
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # a task without GPUs keeps what it can see
    try:
        import ray
    except ImportError as error:
        raise LantmError("Ray is not installed: pip install 'lantm[ray]'") from error
    return ray


def _connect(ray: Any, address: str | None) -> None:
    # Workers inherit the folder that modules of the user's own are found in.
    environment = {
        "env_vars": {"PYTHONPATH": os.pathsep.join(filter(None, (os.getcwd(), os.environ.get("PYTHONPATH"))))}
    }
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR", "runtime_env": environment}
    if address is None:
        options |= {"include_dashboard": False, "address": "local"}
    else:
        options["address"] = address
    try:
        with warnings.catch_warnings():
            # Ray's processes are other programs, begun at once: what JAX warns of cannot happen.
            warnings.filterwarnings("ignore", r"os\.fork\(\) was called", RuntimeWarning)
            warnings.filterwarnings("ignore", category=FutureWarning)
            ray.init(**options)
    except (ConnectionError, RuntimeError, ValueError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise LantmError(f"cannot join the Ray cluster {address or 'on this machine'}: {reason}") from error


def _on_worker(group: str, path: str, cpus: int) -> list[Any]:
    """What runs on a worker: text in and text out, so that nothing of ours has to be pickled."""
    import jax

    with contextlib.suppress(RuntimeError):  # a worker that has worked before keeps its devices
        jax.config.update("jax_num_cpu_devices", cpus)
    folder = SweepFolder(pathlib.Path(path))
    warnings: list[str] = []
    ended = attempt(
        Group.from_json(json.loads(group)),
        folder,
        lambda event: warnings.append(event.said) if event.said else None,
        folder.asked_to_stop,
    )
    return [ended.state, ended.epoch, ended.said, warnings]


def _outcome(ray: Any, reference: Any, group: Group, folder: SweepFolder) -> Event:
    try:
        state, epoch, said, warnings = ray.get(reference)
    except ray.exceptions.RayError as error:  # its worker died once too often
        lines = str(error).strip().splitlines() or [type(error).__name__]
        reason = f"its Ray worker died {RETRIES + 1} times: {lines[0]}"
        folder.note_failure(group, reason)
        return Event(group, "failed", folder.epoch(group), reason)
    return Event(group, state, epoch, said or "; ".join(warnings))

"""`RayEngine`: runs the jobs of a grid as Ray tasks, on a cluster or on the cores and GPUs of this machine.

The grid's folder has to be on a file system shared by all computers. If a worker or node dies, its job is given to
another worker, which continues from the last checkpoint.
"""

import contextlib
import json
import os
import pathlib
import socket
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

from lantm.errors import LantmError, first_line
from lantm.grids.engine import Engine, Event, Stop, Tell, attempt
from lantm.grids.folder import GridFolder
from lantm.grids.job import Job
from lantm.grids.packing import Group
from lantm.interrupt import patient
from lantm.records import make_record

RETRIES = 10
"""The number of times that a job is given to another worker before it counts as failed."""
_LOOK = 1.0  # seconds between checks of the tasks
_UNTIL_WORKERS_HAVE_SAVED = 20.0  # seconds after Ctrl-C
_PATIENCE = 5.0  # seconds to wait for a response from a cluster's address


class RayEngine(Engine):
    """Runs jobs on a Ray cluster, or on a local one if no address is given."""

    def __init__(self, address: str | None = None, cpus: int = 1, gpus: float | None = None):
        """The cores and GPUs per job; by default one GPU if the cluster has any."""
        self._address = address
        self._cpus = cpus
        self._gpus = gpus

    def run(self, jobs: Sequence[Job], folder: GridFolder, tell: Tell, stop: Stop) -> None:
        ray = load_ray()
        began = not ray.is_initialized()
        if began:
            _connect(ray, self._address)
        with patient(_UNTIL_WORKERS_HAVE_SAVED):
            self._run(ray, began, jobs, folder, tell, stop)

    def _run(self, ray: Any, began: bool, jobs: Sequence[Job], folder: GridFolder, tell: Tell, stop: Stop) -> None:
        try:
            task = ray.remote(_on_worker).options(**self._resources(ray), max_retries=RETRIES)
            places = [str(path.resolve()) for path in (folder.path, folder.records)]
            waiting, epochs = list(jobs), dict[str, int]()
            tasks: dict[Any, Job] = {}
            while waiting or tasks:
                for job in _apart(waiting, tasks.values()):
                    waiting.remove(job)
                    tasks[task.remote(json.dumps(job.to_json()), *places, self._cpus)] = job
                finished, _ = ray.wait(list(tasks), num_returns=1, timeout=_LOOK)
                for reference in finished:
                    tell(_outcome(ray, reference, tasks.pop(reference), folder))
                for job in tasks.values():
                    epoch = folder.run(job.run_name).last_epoch()
                    if epoch != epochs.setdefault(job.run_name, epoch):
                        tell(Event(job, "running", epoch))
                        epochs[job.run_name] = epoch
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
                raise LantmError(f"a job asks for {asked:g} {kind}, the Ray cluster has {there.get(kind, 0):g}")
        return {"num_cpus": self._cpus, "num_gpus": gpus}


def _apart(waiting: Iterable[Job], running: Iterable[Job]) -> list[Job]:
    """The waiting jobs that can run in parallel with the running ones: no two with the same run folder."""
    used, found = {job.run_name for job in running}, []
    for job in waiting:
        if job.run_name not in used:
            used.add(job.run_name)
            found.append(job)
    return found


def load_ray() -> Any:
    """Imports `ray`; raises a `LantmError` that says how to install it."""
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # tasks without GPUs still see the visible ones
    try:
        import ray
    except ImportError as error:
        raise LantmError("Ray is not installed: pip install ray") from error
    return ray


def _check_reachable(address: str) -> None:
    """Raises a `LantmError` if nothing listens at host:port, where Ray itself would retry for minutes."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not colon:  # auto or local: resolved by Ray
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_PATIENCE).close()
    except (OSError, ValueError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise LantmError(f"cannot join the Ray cluster {address}: {reason}; ray start --head prints its address") from (
            error
        )


def _connect(ray: Any, address: str | None) -> None:
    # Workers import the user's modules from the same folder.
    environment = {
        "env_vars": {"PYTHONPATH": os.pathsep.join(filter(None, (os.getcwd(), os.environ.get("PYTHONPATH"))))}
    }
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR", "runtime_env": environment}
    if address is None:
        options |= {"include_dashboard": False, "address": "local"}
    else:
        _check_reachable(address)
        options["address"] = address
    try:
        with warnings.catch_warnings():
            # Ray's child processes immediately execute another program, so JAX's warning about fork does not apply.
            warnings.filterwarnings("ignore", r"os\.fork\(\) was called", RuntimeWarning)
            warnings.filterwarnings("ignore", category=FutureWarning)
            ray.init(**options)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise LantmError(f"cannot join the Ray cluster {address or 'on this machine'}: {first_line(error)}") from error


def _on_worker(job: str, path: str, records: str, cpus: int) -> list[Any]:
    """Runs on a worker; arguments and results are text, so that no objects of ours are pickled."""
    import jax

    with contextlib.suppress(RuntimeError):  # a reused worker keeps its devices
        jax.config.update("jax_num_cpu_devices", cpus)
    folder = GridFolder(pathlib.Path(path), pathlib.Path(records))
    if folder.asked_to_stop():
        return ["stopped", 0, "", []]
    warnings: list[str] = []
    ended = attempt(
        _from_json(json.loads(job)),
        folder,
        lambda event: warnings.append(event.message) if event.message else None,
        folder.asked_to_stop,
    )
    return [ended.state, ended.epoch, ended.message, warnings]


def _from_json(values: Any) -> Job:
    """A job from JSON: a sweep's group is stored completely, a cell by its name in its study."""
    if "study" not in values:
        return Group.from_json(values)
    from lantm.grids.request import Request
    from lantm.grids.studies import STUDIES

    request = make_record(Request, values["request"], "request")
    cells = STUDIES[values["study"]].selected(request, values["command"])
    return next(cell for cell in cells if cell.name == values["cell"])


def _outcome(ray: Any, reference: Any, job: Job, folder: GridFolder) -> Event:
    try:
        state, epoch, message, warnings = ray.get(reference)
    except ray.exceptions.RayError as error:  # no retries are left
        reason = f"its Ray worker died {RETRIES + 1} times: {first_line(error)}"
        folder.note_failure(job.run_name, reason)
        return Event(job, "failed", folder.run(job.run_name).last_epoch(), reason)
    return Event(job, state, epoch, message or "; ".join(warnings))

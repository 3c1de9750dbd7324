"""Provenance of a result: package versions, git commit, device and date."""

import dataclasses
import datetime
import os
import pathlib
import platform
import subprocess
from typing import Any

import jax

import lantm
from lantm.records import make_record

COMMIT = "LANTM_COMMIT"
"""The environment variable that gives the commit where there is no git checkout."""


@dataclasses.dataclass(frozen=True)
class Provenance:
    """The fields of a stored provenance; older versions may have stored fewer."""

    lantm: str | None = None
    commit: str | None = None
    jax: str | None = None
    python: str | None = None
    device: str | None = None
    devices: int | None = None
    date: str | None = None
    switches: dict[str, Any] | None = None
    """Of a machine with other switches than in training: those of training."""


def read_provenance(values: Any, where: str) -> dict[str, Any]:
    """The provenance read from a file, checked; further fields are kept."""
    make_record(Provenance, values, where, others=True)
    return dict(values)


def provenance() -> dict[str, Any]:
    """The current provenance, as stored in JSON files."""
    return {
        "lantm": lantm.__version__,
        "commit": os.environ.get(COMMIT) or _commit(),
        "jax": jax.__version__,
        "python": platform.python_version(),
        "device": _device(),
        "devices": jax.local_device_count(),
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    }


def _device() -> str:
    """The name and the number of devices."""
    device = jax.local_devices()[0]
    if device.platform == "cpu":
        return f"cpu: {_cpu_name()}, {os.cpu_count()} cores"
    return f"{device.platform}: {jax.local_device_count()} x {device.device_kind}"


def _cpu_name() -> str:
    """The CPU's model name, as the operating system reports it; Python knows it only on Windows."""
    if platform.system() == "Darwin" and (name := _output("sysctl", "-n", "machdep.cpu.brand_string")):
        return name
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    for line in lines:
        field, _, value = line.partition(":")
        if field.strip() == "model name":
            return value.strip()
    return platform.processor() or platform.machine()


def _commit() -> str | None:
    """The commit of the checkout that this package runs from, with a plus sign for uncommitted changes.

    An installed package may lie in the checkout of another project, which does not have this file.
    """
    file = pathlib.Path(__file__)
    git = ("git", "-C", str(file.parent))
    ours = _output(*git, "ls-files", file.name)
    return ours and _output(*git, "describe", "--always", "--abbrev=12", "--exclude=*", "--dirty=+")


def _output(*command: str) -> str | None:
    """The output of a program; None if it is not installed or fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None

"""`lantm doctor`: reports versions, devices and whether the compiled kernels work, and advises how to run faster."""

import dataclasses
import importlib.metadata
import importlib.util
import os
import pathlib
import re
from typing import Any

import jax
import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

import lantm
from lantm.cli.output import print_json, say
from lantm.cli.parse import parse
from lantm.devices import current_device, local_devices, own_cores
from lantm.errors import first_line
from lantm.machine import LieAccess
from lantm.machine.backend import Backend, unserved_device
from lantm.provenance import provenance

_PACKAGES = ("jax", "jaxlib", "equinox", "optax", "numpy", "safetensors")
_EXTRAS = {"figures": "matplotlib", "video": "imageio_ffmpeg", "ray": "ray", "parquet": "pyarrow"}
_DRIVER = pathlib.Path("/proc/driver/nvidia/version")
_CUDA_13_DRIVER = 580  # the first version that supports CUDA 13


@dataclasses.dataclass(frozen=True)
class Arguments:
    """Show versions, devices and whether the compiled kernels work, and advise how to run faster here."""

    json: bool = False
    """Print JSON on standard output."""


def main(arguments: list[str]) -> int:
    """Runs the command."""
    chosen = parse(Arguments, "doctor", arguments)
    found = facts()
    if chosen.json:
        print_json(found)
        return 0
    console = Console()
    table = Table(show_header=False, box=None)
    table.add_column(style="bold", no_wrap=True)
    table.add_column()
    for name, value in found.items():
        if name != "advice":
            missing = name == "commit" and value is None
            table.add_row(name, Text("unknown (installed without git)" if missing else _shown(value)))
    console.print(table, highlight=False)
    if absent := [name for name, there in found["extras"].items() if not there]:
        say(console, f"\nextras that are not installed: pip install 'lantm[{','.join(absent)}]'")
    say(console, "\nhow to run faster" + ("" if found["advice"] else ": no advice"))
    for advice in found["advice"]:
        say(console, f"- {advice}")
    return 0


def facts() -> dict[str, Any]:
    """The facts about this installation, as JSON values."""
    reason = unserved_device()
    origin = provenance()
    cuda = (name for name in ("jax-cuda12-plugin", "jax-cuda13-plugin") if _version(name))
    return {
        "lantm": lantm.__version__,
        "commit": origin["commit"],
        "python": origin["python"],
        "packages": {name: _version(name) for name in (*_PACKAGES, *cuda)},
        "extras": {name: importlib.util.find_spec(module) is not None for name, module in _EXTRAS.items()},
        "device": origin["device"],
        "devices": [str(device) for device in local_devices()],
        "kernels": reason or _trial("kernel"),
        "advice": advice(),
    }


def advice() -> list[str]:
    """Ways to train faster here, one line each, the most important first."""
    found = []
    platform, driver = current_device().platform, _driver_version()
    config: Any = jax.config  # its fields have types only from JAX 0.12 on
    if platform != "gpu" and driver:
        extra = "cuda13" if driver >= _CUDA_13_DRIVER else "cuda12"
        found.append(f"JAX does not use the NVIDIA GPU of this machine: pip install 'jax[{extra}]'")
    elif platform == "cpu":
        found.append("use an NVIDIA GPU of 2020 or later: many seeds take little more time there than one")
    if reason := unserved_device():
        found.append(f"the kernels do not work, and the loops run at about half their speed: {reason}")
    if not config.jax_compilation_cache_dir:
        found.append("set JAX_COMPILATION_CACHE_DIR to a folder, so that compiled programs are kept")
    for name, means in _SLOW_SWITCHES.items():
        if getattr(config, name):
            found.append(f"{name} is on, {means}: switch it off")
    if platform == "gpu" and config.jax_default_matmul_precision not in (
        None,
        "default",
        "high",
        "tensorfloat32",
    ):
        found.append("matrix products have full precision: the default, TF32, is faster")
    own, cores = own_cores(), os.cpu_count() or 1
    if platform == "cpu" and own < cores:
        found.append(f"this process may use {own} of {cores} cores")
    if hasattr(os, "getloadavg") and os.getloadavg()[0] > 1.5 * cores:
        found.append(f"other programs keep the cores busy: {os.getloadavg()[0]:.1f} run on {cores} cores")
    return found


_SLOW_SWITCHES = {
    "jax_disable_jit": "so nothing is compiled",
    "jax_debug_nans": "so every result is checked",
    "jax_enable_x64": "so the loops compute in double precision and the kernels do not run",
}


def _trial(backend: Backend) -> str:
    """Runs a small machine with the kernels and with the loops, in full precision, and compares the outputs."""
    layer = LieAccess(inputs=3, cells=16, key=jax.random.key(0))
    inputs = jax.random.normal(jax.random.key(1), (12, 3))
    try:
        with jax.default_matmul_precision("highest"):
            ours, plain = (np.asarray(layer(inputs, backend=one)[0]) for one in (backend, "loops"))
    except Exception as error:  # compilers may raise anything, and it is reported
        return f"they fail on this device, use the backend 'loops': {first_line(error)}"
    apart = float(np.max(np.abs(ours - plain)))
    verdict = "work" if apart < 1e-3 else "are WRONG on this device; use the backend 'loops'"
    return f"{verdict}: a small machine's outputs differ from those of the loops by at most {apart:.1g}"


def _driver_version() -> int:
    """The version of NVIDIA's driver; 0 without one."""
    try:
        found = re.search(r"Module.*?\s(\d+)\.\d+", _DRIVER.read_text())
    except OSError:
        return 0
    return int(found[1]) if found else 0


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_shown(one)}" for name, one in value.items())
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return {"True": "yes", "False": "no", "None": "unknown"}.get(str(value), str(value))

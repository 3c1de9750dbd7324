"""Chooses the implementation of the recurrence: compiled kernels, JAX loops or `lax.scan`; `SERVED` lists what kernels
support.

JAX's default device and default precision are read here while a function is traced. Both are part of the cache key of a
compiled function, so JAX traces again when they change. An array committed to another than the default device is not
noticed; in that case name the backend, or set `jax.default_device`.
"""

import dataclasses
import warnings
from functools import lru_cache
from typing import Any, Literal, NamedTuple, get_args

import jax
import jax.numpy as jnp

from lantm.devices import current_device
from lantm.errors import LantmError, SlowerWarning, meant
from lantm.geometry import Disk, Geometry, Hyperbolic, RigidMotion, Rotation, ScalingRotation, Sphere, Translation
from lantm.machine.access import Access
from lantm.machine.compilers import missing_compiler, no_c_compiler
from lantm.machine.weighting import InvNorm, SoftMax, Weighting

Backend = Literal["auto", "loops", "kernel", "scan", "emulated"]
"""`auto` uses the kernels if they support the machine and the device, otherwise the loops; `kernel` raises an error
instead. `scan` is plain `lax.scan`: slow, with memory quadratic in time, but twice differentiable. `emulated` runs the
GPU kernels on a CPU, slowly, for tests."""


def check_backend(backend: str) -> None:
    """Refuses a name that is no `Backend`."""
    known = get_args(Backend)
    if backend not in known:
        raise LantmError(f"there is no backend {backend!r}: {meant(backend, known)}")


class Kernels(NamedTuple):
    """The kind of kernels, and how they are compiled."""

    place: Literal["gpu", "cpu", "emulated"]  # emulated: the GPU kernels
    full_precision: bool = True  # of matrix products; otherwise TF32, JAX's default on a GPU


@dataclasses.dataclass(frozen=True)
class Served:
    """The machines that the kernels support; on a CPU, sizes are unlimited."""

    geometries: tuple[type[Geometry], ...]
    weightings: tuple[type[Weighting], ...]
    key_size: int
    """The maximum number of coordinates of a key; the following fields are maxima too."""
    read_heads: int
    write_heads: int
    cells: int
    memory_width: int


SERVED = Served(
    geometries=(Translation, Rotation, ScalingRotation, RigidMotion, Sphere, Disk, Hyperbolic),
    weightings=(InvNorm, SoftMax),
    key_size=8,
    read_heads=2,
    write_heads=2,
    cells=128,
    memory_width=128,
)
"""Machines for which `python -m benchmarks.kernel_parity` compares kernels and loops (results/kernel-parity.json)."""

# Values of `jax.default_matmul_precision` for which JAX itself rounds to TF32 or less on a GPU.
_ROUNDED = (None, "default", "high", "bfloat16", "tensorfloat32", "TF32_TF32_F32")


def choose_kernels(backend: Backend, access: Access, cells: int, dtype: Any) -> Kernels | None:
    """How to compile the kernels for a machine, or None if the loops are used."""
    if backend == "loops":
        return None
    if backend == "emulated":
        return Kernels("emulated", full_precision=False)  # the emulation does not round
    device = current_device().platform
    reason = unserved_device() or (
        _unserved_on_cpu(access, dtype) if device == "cpu" else _unserved_on_gpu(access, cells, dtype)
    )
    if reason is None and device == "cpu":
        return Kernels("cpu")
    if reason is None:
        config: Any = jax.config  # its fields have types only from JAX 0.12 on
        return Kernels("gpu", full_precision=config.jax_default_matmul_precision not in _ROUNDED)
    if backend == "kernel":
        raise LantmError(f"the kernels cannot run this machine: {reason}; use the backend 'auto' or 'loops'")
    if device == "gpu":
        _warn_once(reason)
    return None


def cpu_kernels(dtype: Any = jnp.float32) -> bool:
    """Whether compiled code computes with such numbers: on a CPU, if there is a C++ compiler."""
    return current_device().platform == "cpu" and _unserved_number(dtype) is None and no_c_compiler() is None


def unserved_device() -> str | None:
    """Why the kernels cannot run on JAX's default device; they need a CPU, or an NVIDIA GPU of 2020 or later."""
    device = current_device()
    if device.platform == "cpu":
        return no_c_compiler()
    if device.platform != "gpu":
        return f"they run on CPUs and GPUs, and JAX's default device is a {device.platform.upper()}"
    try:
        new_enough = float(getattr(device, "compute_capability", "none")) >= 8
    except ValueError:  # GPUs of other makers have other names
        new_enough = False
    if not new_enough:
        return "they need an NVIDIA GPU of compute capability 8.0 or later"
    return missing_compiler()


def _unserved_parts(access: Access) -> str | None:
    """Why the kernels do not support a machine on any device."""
    for kind, part, served in (
        ("geometry", access.geometry, SERVED.geometries),
        ("weighting", access.weighting, SERVED.weightings),
    ):
        if type(part) not in served:
            return f"they have not been compared with the loops for the {kind} {type(part).__name__}"
    return None


def _unserved_number(dtype: Any) -> str | None:
    """Why compiled code on a CPU does not compute with such numbers."""
    if dtype in (jnp.float32, jnp.float64):
        return None
    return f"they compute in float32 or float64, not in {jnp.dtype(dtype)}"


def _unserved_on_cpu(access: Access, dtype: Any) -> str | None:
    return _unserved_number(dtype) or _unserved_parts(access)


def _unserved_on_gpu(access: Access, cells: int, dtype: Any) -> str | None:
    if reason := _unserved_parts(access):
        return reason
    for name, size, largest in (
        ("coordinates of a key", access.geometry.key_size, SERVED.key_size),
        ("read heads", access.read_heads, SERVED.read_heads),
        ("write heads", access.write_heads, SERVED.write_heads),
        ("cells", cells, SERVED.cells),
        ("numbers in a memory vector", access.memory_width, SERVED.memory_width),
    ):
        if size > largest:
            return f"they support up to {largest} {name}, and there are {size}"
    if dtype != jnp.float32:
        return f"they compute in float32, not in {jnp.dtype(dtype)}"
    return None


@lru_cache
def _warn_once(reason: str) -> None:
    warnings.warn(
        f"the loops run this machine on the GPU, at about half the speed of the kernels: {reason}",
        SlowerWarning,
        stacklevel=2,
    )

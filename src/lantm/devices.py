"""Maps a program over seeds and distributes the seeds over all local devices; queries devices and their memory.

All seeds run the same program for the same number of steps, so they share the lengths of their problems. With an
adaptive curriculum, they run as many steps as the longest problem needs. All other randomness depends on the seed
alone. On a CPU, repeating a command gives identical results; with a different number of seeds, rounding may differ. On
a GPU even the same command agrees only up to rounding, which training amplifies (docs/reproduction.md).
"""

import contextlib
import ctypes
import os
import pathlib
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, TypeVar

import jax
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as Spec

T = TypeVar("T")

_AXIS = "seeds"


def own_cores() -> int:
    """The number of cores that this process may use, as restricted by a scheduler."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def use_all_cores() -> None:
    """Makes every core of the CPU a JAX device, to distribute seeds over; must be called before JAX uses devices."""
    with contextlib.suppress(RuntimeError):  # devices are already in use and stay as they are
        jax.config.update("jax_num_cpu_devices", own_cores())


def use_one_device() -> None:
    """Makes all cores of the CPU one JAX device, for programs with matrices large enough to use all cores."""
    with contextlib.suppress(RuntimeError):
        jax.config.update("jax_num_cpu_devices", 1)


def keep_memory() -> None:
    """Keeps freed memory in this process, with C libraries that support it (glibc).

    XLA frees the intermediate results of every call. If the C library returns them to the system, their pages are
    cleared and mapped again in the next call, which takes up to a quarter of a training step on a CPU.
    """
    trim_threshold, mmap_threshold = -1, -3  # M_TRIM_THRESHOLD and M_MMAP_THRESHOLD in malloc.h
    with contextlib.suppress(OSError, AttributeError):
        library = ctypes.CDLL(None)
        # The maximum is 32 MiB before glibc 2.35. If only the trim threshold is set, the other stays at 128 KiB.
        if library.mallopt(mmap_threshold, 2**30) or library.mallopt(mmap_threshold, 2**25):
            library.mallopt(trim_threshold, 2**30)


def current_device() -> jax.Device:
    """JAX's default device."""
    config: Any = jax.config  # its fields have types only from JAX 0.12 on
    chosen = config.jax_default_device
    if chosen is None:
        return jax.local_devices()[0]
    return jax.local_devices(backend=chosen)[0] if isinstance(chosen, str) else chosen


def on_cpu() -> bool:
    """Whether JAX's default device is a CPU."""
    return bool(current_device().platform == "cpu")


def local_devices() -> list[jax.Device]:
    """All local devices of the default kind."""
    devices: list[jax.Device] = jax.local_devices(backend=current_device().platform)
    return devices


def available_memory() -> int | None:
    """The free memory of all local devices together, in bytes; None if unknown."""
    if on_cpu():
        return _available_on_cpu()
    stats = [device.memory_stats() or {} for device in local_devices()]
    if not all("bytes_limit" in one for one in stats):
        return None
    return int(sum(one["bytes_limit"] - one.get("bytes_in_use", 0) for one in stats))


def _available_on_cpu() -> int | None:
    """The free memory of the system, within the limits of this process."""
    found = []
    with contextlib.suppress(OSError, LookupError, ValueError):
        lines = dict(line.split(":") for line in pathlib.Path("/proc/meminfo").read_text().splitlines())
        found.append(1024 * int(lines["MemAvailable"].split()[0]))
    with contextlib.suppress(OSError, LookupError, ValueError):  # limits of a container; "max" is no limit
        group = pathlib.Path("/sys/fs/cgroup")
        limit, used = (int((group / f"memory.{name}").read_text()) for name in ("max", "current"))
        kinds = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
        found.append(limit - used + int(kinds["file"]))  # the page cache can be reclaimed
    with contextlib.suppress(OSError, ValueError, AttributeError):
        if not found:
            found.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    return min(found, default=None)


def device_mesh(seeds: int) -> Mesh:
    """The largest number of local devices that divides the number of seeds, as a mesh."""
    devices = local_devices()
    count = max(n for n in range(1, len(devices) + 1) if seeds % n == 0)
    return Mesh(devices[:count], (_AXIS,))


def place(tree: T, mesh: Mesh) -> T:
    """Puts arrays with a leading axis of seeds onto the devices."""
    placed: T = jax.device_put(tree, NamedSharding(mesh, Spec(_AXIS)))
    return placed


def over_seeds(function: Callable[..., Any], mesh: Mesh, **jit_options: Any) -> Callable[..., Any]:
    """Compiles a function of one seed for all seeds: its first argument and its results get an axis of seeds.

    Further arguments are shared by all seeds. Every device runs its own seeds, without communication. An accelerator
    runs them in parallel, which costs little more than one. A CPU runs them one after the other, since the small
    matrices of one seed fit its cache and batching them gains nothing.
    """
    one_by_one = mesh.devices.flat[0].platform == "cpu"

    def on_one_device(tree: Any, *shared: Any) -> Any:
        def one_seed(tree: Any) -> Any:
            return function(tree, *shared)

        return lax.map(one_seed, tree) if one_by_one else jax.vmap(one_seed)(tree)

    @partial(jax.jit, out_shardings=NamedSharding(mesh, Spec(_AXIS)), **jit_options)
    def compiled(tree: Any, *shared: Any) -> Any:
        specs = (Spec(_AXIS), *[Spec()] * len(shared))
        # check_vma: the loops combine values that differ between devices with values that do not.
        return jax.shard_map(on_one_device, mesh=mesh, in_specs=specs, out_specs=Spec(_AXIS), check_vma=False)(
            tree, *shared
        )

    return compiled


@lru_cache(maxsize=64)
def compiled_once(function: Callable[..., Any], mesh: Mesh, *settings: Any, **jit_options: Any) -> Any:
    """`over_seeds` of a function whose first arguments are bound to `settings`; cached for equal settings.

    So a training that is resumed, repeated or tested in the same process does not compile again.
    """
    return over_seeds(partial(function, *settings), mesh, **jit_options)

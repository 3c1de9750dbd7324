"""Maps a program over seeds and distributes the seeds over all local devices; queries devices and their memory.

All seeds run the same program in step, so they share the lengths of their problems; where a curriculum follows what
each has learnt, they all run for as many steps as the longest. Everything else random depends on a seed alone. On a CPU
the same command repeats bit for bit; beside other seeds, in another program, a seed's results may differ in rounding.
On a GPU even the same command agrees only up to rounding, which training amplifies (docs/reproduction.md).
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
    """The cores that this process may use: where a scheduler has given us some of them, only those."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def use_all_cores() -> None:
    """Makes every core of the CPU a device of its own, to share the seeds out over; to be called first of all."""
    with contextlib.suppress(RuntimeError):  # devices are in use already: they stay as they are
        jax.config.update("jax_num_cpu_devices", own_cores())


def use_one_device() -> None:
    """Makes all cores of the CPU one device, for programs whose matrices are large enough to keep them all busy."""
    with contextlib.suppress(RuntimeError):
        jax.config.update("jax_num_cpu_devices", 1)


def keep_memory() -> None:
    """What is freed stays with this process, where the C library can be told so (glibc).

    XLA frees the intermediate results of every call. Where the library gives them back to the system, each of their
    pages has to be cleared and mapped again in the next call, which takes up to a quarter of a training step on a CPU.
    """
    trim_threshold, mmap_threshold = -1, -3  # their names in malloc.h
    with contextlib.suppress(OSError, AttributeError):
        library = ctypes.CDLL(None)
        # Before glibc 2.35, 32 MiB are the most. Without a threshold, setting the other would keep it at 128 KiB.
        if library.mallopt(mmap_threshold, 2**30) or library.mallopt(mmap_threshold, 2**25):
            library.mallopt(trim_threshold, 2**30)


def current_device() -> jax.Device:
    """The device that JAX runs computations on by default."""
    config: Any = jax.config  # its fields have types from JAX 0.12 on only
    chosen = config.jax_default_device
    if chosen is None:
        return jax.local_devices()[0]
    return jax.local_devices(backend=chosen)[0] if isinstance(chosen, str) else chosen


def on_cpu() -> bool:
    """Whether computations run on a CPU by default."""
    return bool(current_device().platform == "cpu")


def local_devices() -> list[jax.Device]:
    """All local devices of the kind that JAX uses by default."""
    devices: list[jax.Device] = jax.local_devices(backend=current_device().platform)
    return devices


def available_memory() -> int | None:
    """The bytes that are free for computations on all local devices together; None if it is not known."""
    if on_cpu():
        return _available_on_cpu()
    stats = [device.memory_stats() or {} for device in local_devices()]
    if not all("bytes_limit" in one for one in stats):
        return None
    return int(sum(one["bytes_limit"] - one.get("bytes_in_use", 0) for one in stats))


def _available_on_cpu() -> int | None:
    """What the system has free, and what limits leave to this process."""
    found = []
    with contextlib.suppress(OSError, LookupError, ValueError):
        lines = dict(line.split(":") for line in pathlib.Path("/proc/meminfo").read_text().splitlines())
        found.append(1024 * int(lines["MemAvailable"].split()[0]))
    with contextlib.suppress(OSError, LookupError, ValueError):  # a container's; "max" is no limit
        group = pathlib.Path("/sys/fs/cgroup")
        limit, used = (int((group / f"memory.{name}").read_text()) for name in ("max", "current"))
        kinds = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
        found.append(limit - used + int(kinds["file"]))  # what it remembers of files, it can forget
    with contextlib.suppress(OSError, ValueError, AttributeError):
        if not found:
            found.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    return min(found, default=None)


def device_mesh(seeds: int) -> Mesh:
    """As many local devices, of the kind that JAX uses by default, as share the seeds out evenly."""
    devices = local_devices()
    count = max(n for n in range(1, len(devices) + 1) if seeds % n == 0)
    return Mesh(devices[:count], (_AXIS,))


def place(tree: T, mesh: Mesh) -> T:
    """Puts arrays with a leading axis of seeds onto the devices."""
    placed: T = jax.device_put(tree, NamedSharding(mesh, Spec(_AXIS)))
    return placed


def over_seeds(function: Callable[..., Any], mesh: Mesh, **jit_options: Any) -> Callable[..., Any]:
    """Compiles a function of one seed for all of them: its first argument and its results get an axis of seeds.

    Further arguments are shared by all seeds. Every device runs its own seeds, without traffic between devices:
    an accelerator all at once, which costs little more than one, a CPU one after the other, since there the
    small matrices of a seed stay in its cache and a batch of them gains nothing.
    """
    one_by_one = mesh.devices.flat[0].platform == "cpu"

    def on_one_device(tree: Any, *shared: Any) -> Any:
        def one_seed(tree: Any) -> Any:
            return function(tree, *shared)

        return lax.map(one_seed, tree) if one_by_one else jax.vmap(one_seed)(tree)

    @partial(jax.jit, out_shardings=NamedSharding(mesh, Spec(_AXIS)), **jit_options)
    def compiled(tree: Any, *shared: Any) -> Any:
        specs = (Spec(_AXIS), *[Spec()] * len(shared))
        # check_vma: the loops inside mix what differs between devices with what does not.
        return jax.shard_map(on_one_device, mesh=mesh, in_specs=specs, out_specs=Spec(_AXIS), check_vma=False)(
            tree, *shared
        )

    return compiled


@lru_cache(maxsize=64)
def compiled_once(function: Callable[..., Any], mesh: Mesh, *settings: Any, **jit_options: Any) -> Any:
    """`over_seeds` of a function whose first arguments are these settings; equal ones get the same program.

    So a training that is resumed, repeated or tested in the same process compiles nothing again.
    """
    return over_seeds(partial(function, *settings), mesh, **jit_options)

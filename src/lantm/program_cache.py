"""JAX's cache of compiled programs, kept between commands in a folder that only the user can write to.

The cache contains machine code that later commands run, so it must not be writable by others: the folder and all its
parents must belong to the user or to root, and be writable by nobody else.
"""

import contextlib
import hashlib
import os
import pathlib
import platform
import stat
import warnings
from typing import Any

import filelock
import jax

LARGEST = 2**30
"""The maximum total size in bytes; the least recently used programs are deleted first."""
_WORTH_KEEPING = 0.1  # minimum compilation time in seconds


def keep_programs() -> None:
    """Turns the cache on, unless JAX already has a cache folder or there is no safe one."""
    config: Any = jax.config  # its fields have types only from JAX 0.12 on
    folder = None if config.jax_compilation_cache_dir else own_folder("programs")
    if folder is None:
        return
    settings = {
        "jax_compilation_cache_dir": str(folder),
        "jax_compilation_cache_max_size": LARGEST,  # also enables JAX's locking between processes
        "jax_persistent_cache_min_compile_time_secs": _WORTH_KEEPING,
    }
    for name, value in settings.items():
        jax.config.update(name, value)
    # With a full disk or an unavailable lock, programs are compiled without the cache.
    warnings.filterwarnings("ignore", "Error (reading|writing) persistent compilation cache entry")


def own_folder(kind: str) -> pathlib.Path | None:
    """The user's cache folder, created if necessary; None if it cannot be created or is writable by others."""
    try:
        base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
        folder = pathlib.Path(base).resolve()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for name in ("lantm", kind, _kind_of_processor()):
            folder /= name
            folder.mkdir(mode=0o700, exist_ok=True)  # one by one: parents=True would create group-accessible parents
        if not all(_only_ours(one) for one in (folder, *folder.parents)):
            return None
        _remove_unfinished(folder)
        return folder
    except (OSError, RuntimeError):  # no home folder, or a read-only one
        return None


def _only_ours(folder: pathlib.Path) -> bool:
    """Whether only the user and root can replace the contents of a folder."""
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid not in (0, os.getuid()):
        return False
    writable_by_others = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return not writable_by_others or bool(found.st_mode & stat.S_ISVTX)  # sticky bit, as on /tmp: only owners rename


def _remove_unfinished(folder: pathlib.Path) -> None:
    """Removes cache entries of killed processes: JAX writes the -atime file after the entry itself."""
    whole = {path.name.removesuffix("-atime") for path in folder.glob("*-atime")}
    if all(path.name.removesuffix("-cache") in whole for path in folder.glob("*-cache")):
        return
    with contextlib.suppress(filelock.Timeout), filelock.FileLock(folder / ".lockfile", timeout=1):  # JAX's own
        for path in folder.glob("*-cache"):
            if not path.with_name(f"{path.name.removesuffix('-cache')}-atime").exists():
                path.unlink(missing_ok=True)


def _kind_of_processor() -> str:
    """An identifier of the processor's features, since a home folder may be shared by different computers."""
    described = [platform.machine(), platform.processor()]
    with contextlib.suppress(OSError), open("/proc/cpuinfo") as file:
        described += [next((line for line in file if line.startswith(("flags", "Features"))), "")]
    return hashlib.sha256("\n".join(described).encode()).hexdigest()[:12]

"""JAX's cache of compiled programs, kept between commands in a folder that only the user can write to.

What is in it is machine code that a later command runs, so nothing is read from a folder that somebody else could have
written: it and every folder above it belong to the user or to root, and nobody else may write there.
"""

import contextlib
import hashlib
import os
import pathlib
import platform
import stat
import warnings

import filelock
import jax

LARGEST = 2**30
"""The most bytes of all programs together: the one that was not used for longest goes first."""
_WORTH_KEEPING = 0.1  # seconds of compilation


def keep_programs() -> None:
    """From here on, programs are kept; unless JAX was told of a folder already, or this user has none that is safe."""
    folder = None if jax.config.jax_compilation_cache_dir else own_folder("programs")  # type: ignore[attr-defined]
    if folder is None:
        return
    settings = {
        "jax_compilation_cache_dir": str(folder),
        "jax_compilation_cache_max_size": LARGEST,  # besides, it makes processes wait for each other
        "jax_persistent_cache_min_compile_time_secs": _WORTH_KEEPING,
    }
    for name, value in settings.items():
        jax.config.update(name, value)
    # A full disk, or a lock that is not to be had: then it is compiled as if there were no folder.
    warnings.filterwarnings("ignore", "Error (reading|writing) persistent compilation cache entry")


def own_folder(kind: str) -> pathlib.Path | None:
    """The folder of what is kept, made if need be; None if there can be none, or if somebody else could write to it."""
    try:
        base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
        folder = pathlib.Path(base).resolve()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for name in ("lantm", kind, _kind_of_processor()):
            folder /= name
            folder.mkdir(mode=0o700, exist_ok=True)  # of several at once, all but the last would be open to a group
        if not all(_only_ours(one) for one in (folder, *folder.parents)):
            return None
        _remove_unfinished(folder)
        return folder
    except (OSError, RuntimeError):  # no home, or one that is read only
        return None


def _only_ours(folder: pathlib.Path) -> bool:
    """Whether nobody but the user and root can put something in the place of what a folder holds."""
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid not in (0, os.getuid()):
        return False
    writable_by_others = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return not writable_by_others or bool(found.st_mode & stat.S_ISVTX)  # as in /tmp: names stay with their owners


def _remove_unfinished(folder: pathlib.Path) -> None:
    """Removes what a process that was killed has not written to its end: JAX writes the time of an entry after it."""
    whole = {path.name.removesuffix("-atime") for path in folder.glob("*-atime")}
    if all(path.name.removesuffix("-cache") in whole for path in folder.glob("*-cache")):
        return
    with contextlib.suppress(filelock.Timeout), filelock.FileLock(folder / ".lockfile", timeout=1):  # JAX's own
        for path in folder.glob("*-cache"):
            if not path.with_name(f"{path.name.removesuffix('-cache')}-atime").exists():
                path.unlink(missing_ok=True)


def _kind_of_processor() -> str:
    """A name for what a program may use of the processor: a home may be shared by computers of different kinds."""
    described = [platform.machine(), platform.processor()]
    with contextlib.suppress(OSError), open("/proc/cpuinfo") as file:
        described += [next((line for line in file if line.startswith(("flags", "Features"))), "")]
    return hashlib.sha256("\n".join(described).encode()).hexdigest()[:12]

"""File locks that keep two processes from changing one folder (run folders, grid folders), with a record of the holder.

The operating system releases the lock when its process ends for any reason, so no stale lock remains. The lock is
reentrant within a thread. For network file systems see docs/scaling.md.
"""

import contextlib
import dataclasses
import datetime
import os
import pathlib
import socket
from collections.abc import Iterator

import filelock

from lantm.errors import LantmError
from lantm.files import check_folder, check_links, is_running, read_json_object, write_json
from lantm.records import make_record

_LOCK, _HOLDER = ".lock", ".holder.json"
LOCK_FILES = frozenset({_LOCK, _HOLDER})
"""The files that a lock leaves in a folder."""


@dataclasses.dataclass(frozen=True)
class Holder:
    """The process that holds a lock."""

    pid: int
    host: str
    since: str

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}, since {self.since}"


@contextlib.contextmanager
def locked(folder: pathlib.Path, timeout: float = 0, remedy: str = "", reads: bool = False) -> Iterator[None]:
    """Locks a folder, which is created if necessary; raises a `LantmError` that names the holder if it is locked.

    With `reads`, a folder that is not writable is used without a lock.
    """
    if not reads:
        check_folder(folder)
        check_links(folder)
    path = os.path.abspath(folder / _LOCK)
    lock = filelock.FileLock(path, is_singleton=True)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=timeout)
    except filelock.Timeout as error:
        holder = _holder(folder)
        raise LantmError(
            f"another process works in {folder}{f' ({holder})' if holder else ''}: wait for its end or stop it{remedy}"
        ) from error
    except OSError as error:
        if not reads:
            raise LantmError(f"cannot write {path}: {error.strerror or error}") from error
        yield
        return
    try:
        if lock.lock_counter == 1:
            since = datetime.datetime.now(datetime.UTC).isoformat(sep=" ", timespec="seconds")
            with contextlib.suppress(LantmError):  # the note is optional
                write_json(folder / _HOLDER, vars(Holder(os.getpid(), socket.gethostname(), since)))
        yield
    finally:
        if lock.lock_counter == 1:
            with contextlib.suppress(OSError):
                if (folder / _HOLDER).is_file():  # leave anything else alone
                    (folder / _HOLDER).unlink()
        lock.release()


def _holder(folder: pathlib.Path) -> Holder | None:
    """The holder of a folder's lock, unless the note is from a process that has ended."""
    try:
        holder = make_record(Holder, read_json_object(folder / _HOLDER), "the holder")
    except (OSError, LantmError):
        return None
    return holder if holder.host != socket.gethostname() or is_running(holder.pid) else None

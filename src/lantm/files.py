"""Atomic writes (a file is written completely or not at all), and JSON reading with clear error messages.

Only regular files are written and read: devices, pipes, sockets and folders are refused. If a path is a symbolic link
to a file, the target is written and the link stays.
"""

import contextlib
import json
import os
import pathlib
import re
import socket
import stat
from collections.abc import Iterator
from typing import Any

from lantm.errors import LantmError

LARGEST_JSON = 2**26
"""The maximum size of a JSON file, in bytes."""

_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
)


def destination(path: pathlib.Path) -> pathlib.Path:
    """The file to write for a path: the path itself, or the target of a symbolic link.

    Raises a `LantmError` if something other than a regular file is there, or if its folder cannot be written to.
    """
    try:
        if path.is_symlink():
            target = pathlib.Path(os.path.realpath(path))
            if not target.is_file():
                raise LantmError(f"cannot write {path}: it is a link, but not to a file; give the name of a file")
            _check_writable(path, target.parent)
            return target
        _check_writable(path, path.parent)
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return path
    except (OSError, ValueError) as error:
        raise LantmError(f"cannot write {path}: {getattr(error, 'strerror', None) or error}") from error
    if not stat.S_ISREG(mode):
        raise LantmError(f"cannot write {path}: it is {_kind(mode)}; give the name of a file")
    return path


def check_folder(path: pathlib.Path) -> None:
    """Raises a `LantmError` if the path exists and is not a folder, or cannot be written to or created."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        if path.is_symlink():
            raise LantmError(f"cannot write into {path}: it is a broken link") from None
        _check_writable(path, path.parent)
        return
    except (OSError, ValueError) as error:
        raise LantmError(f"cannot write into {path}: {getattr(error, 'strerror', None) or error}") from error
    if not stat.S_ISDIR(mode):
        kind = "a file" if stat.S_ISREG(mode) else _kind(mode)
        raise LantmError(f"cannot write into {path}: it is {kind}; give the name of a folder")
    _check_writable(path, path)


def _check_writable(path: pathlib.Path, folder: pathlib.Path) -> None:
    """Raises a `LantmError` unless the folder, or the nearest of its parents that exists, can be written to.

    The system would say so too, but only after the work whose result is to be written.
    """
    folder = nearest_existing(folder)
    if not folder.is_dir():
        raise LantmError(f"cannot write {path}: {folder} is not a folder")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise LantmError(f"cannot write {path}: the folder {folder} is not writable")


def nearest_existing(path: pathlib.Path) -> pathlib.Path:
    """The path itself, or the nearest of its parents that exists."""
    return next((one for one in (path, *path.parents) if os.path.lexists(one)), path)


def check_links(folder: pathlib.Path) -> None:
    """Raises a `LantmError` if a file in a folder, or in a direct subfolder, is a link to a file outside the folder.

    A link named by the user is followed. A link inside a folder may have been placed there by whoever created the
    folder, so it is refused, also if its target does not exist, since writing would create it.
    """
    home = os.path.realpath(folder)
    for path in (path for pattern in ("*", "*/*") for path in folder.glob(pattern) if path.is_symlink()):
        target = os.path.realpath(path)
        if not os.path.isdir(target) and not pathlib.Path(target).is_relative_to(home):
            raise LantmError(f"cannot write into {folder}: {path.name} there is a link to {target}; remove the link")


def check_file(path: pathlib.Path, largest: int | None = None) -> None:
    """Raises a `LantmError` unless the path is a regular file of at most `largest` bytes; OSError if it is missing."""
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):
        raise LantmError(f"{path} is {_kind(found.st_mode)}, not a file")
    if largest is not None and found.st_size > largest:
        raise LantmError(f"{path} has {found.st_size:,} bytes: such a file has at most {largest:,}")


def _kind(mode: int) -> str:
    return next((words for is_kind, words in _KINDS if is_kind(mode)), "no file")


def temporary_path(path: pathlib.Path) -> pathlib.Path:
    """The name of a file while it is being written; it identifies the process and the host."""
    return path.with_name(f".{path.name}.{os.getpid()}@{_host()}.tmp")


def leftovers(folder: pathlib.Path) -> Iterator[pathlib.Path]:
    """Temporary files in a folder whose process no longer exists.

    Files of processes on other computers that share the folder are left alone.
    """
    for path in folder.glob(".*.tmp"):
        if (named := re.fullmatch(r"\..*\.(\d+)(?:@(.*))?\.tmp", path.name)) and named[2] in (None, _host()):
            number = int(named[1])
            if number == os.getpid() or not is_running(number):
                yield path


def is_running(process: int) -> bool:
    """Whether a process with this number exists on this computer; true if that cannot be determined."""
    if os.name != "posix":
        return True
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def _host() -> str:
    return file_name(socket.gethostname())


def write_whole(path: pathlib.Path, data: bytes) -> None:
    """Atomic write: after a crash at any moment, the file has either its old or its new contents."""
    path = destination(path)
    temporary = temporary_path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(temporary, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
        if os.name == "posix":  # makes the rename durable
            folder = os.open(path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
    except OSError as error:
        raise LantmError(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def utf8(text: str) -> bytes:
    """Encodes a text as UTF-8; undecodable parts of folder names become question marks.

    >>> utf8("run-\\udcff")
    b'run-?'
    """
    return text.encode(errors="replace")


def write_json(path: pathlib.Path, value: Any) -> None:
    """Writes a JSON file atomically."""
    write_whole(path, (json.dumps(value, indent=2) + "\n").encode())


def read_json_object(path: pathlib.Path, remedy: str = "") -> dict[str, Any]:
    """Reads a JSON object; raises a `LantmError` that ends with `remedy` for other contents, OSError if it is
    missing."""
    end = f"; {remedy}" if remedy else ""
    try:
        check_file(path, LARGEST_JSON)
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise
    except LantmError as error:
        raise LantmError(f"{error}{end}") from error
    except (OSError, ValueError, RecursionError) as error:
        raise LantmError(f"{path} cannot be read as JSON: {error}{end}") from error
    if not isinstance(value, dict):
        raise LantmError(f"{path} is not a JSON object{end}")
    return value


def file_name(text: str) -> str:
    """A text as part of a file name: everything but letters and digits becomes a hyphen.

    >>> file_name("programs[kinds=loop]-lstm")
    'programs-kinds-loop--lstm'
    """
    return re.sub(r"[^0-9A-Za-z]", "-", text).strip("-")


def free_path(path: pathlib.Path) -> pathlib.Path:
    """The path, or if it exists, the path with a number appended."""
    free, number = path, 1
    while free.exists():
        number += 1
        free = path.with_name(f"{path.name}-{number}")
    return free

"""Files that are either whole or not there, and JSON files read with an error message for people."""

import contextlib
import json
import os
import pathlib
import re
from typing import Any

from lantm.errors import LantmError


def write_whole(path: pathlib.Path, data: bytes) -> None:
    """Writes a file so that after a crash at any moment it has its old contents or its new ones."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(temporary, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
        if os.name == "posix":  # the rename itself is safe once its folder is
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


def write_json(path: pathlib.Path, value: Any, indent: int = 2) -> None:
    """Writes a JSON file, whole or not at all."""
    write_whole(path, (json.dumps(value, indent=indent) + "\n").encode())


def read_json_object(path: pathlib.Path, remedy: str = "") -> dict[str, Any]:
    """The JSON object in a file; anything else is a `LantmError`, with the remedy. A missing file raises as usual."""
    end = f"; {remedy}" if remedy else ""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise
    except (OSError, ValueError, RecursionError) as error:
        raise LantmError(f"{path} cannot be read as JSON: {error}{end}") from error
    if not isinstance(value, dict):
        raise LantmError(f"{path} is not a JSON object{end}")
    return value


def file_name(text: str) -> str:
    """A text as part of a file name: letters and digits stay, anything else is a hyphen.

    >>> file_name("programs[kinds=loop]-lstm")
    'programs-kinds-loop--lstm'
    """
    return re.sub(r"[^0-9A-Za-z]", "-", text).strip("-")


def free_path(path: pathlib.Path) -> pathlib.Path:
    """The path, or one with a number appended where it exists already."""
    free, number = path, 1
    while free.exists():
        number += 1
        free = path.with_name(f"{path.name}-{number}")
    return free

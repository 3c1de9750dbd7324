"""The file format of checkpoints, machines and recordings (safetensors): trees of arrays and notes, with a digest that
is checked.

The digest covers the notes and all arrays. It is verified before anything in a file is used. Nothing is ever unpickled.
"""

import contextlib
import hashlib
import json
import pathlib
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import equinox as eqx
import jax
import numpy as np
import safetensors
import safetensors.numpy

from lantm.errors import LantmError, first_line
from lantm.files import write_whole

FORMAT = "lantm-1"
SUFFIX = ".safetensors"

_Arrays = Iterable[tuple[str, np.ndarray]]  # sorted by name

# Exceptions that reading a damaged file may raise.
_DAMAGE = (safetensors.SafetensorError, OSError, LookupError, TypeError, ValueError, MemoryError, RecursionError)


def named_arrays(tree: Any) -> dict[str, np.ndarray]:
    """The arrays of a tree by their paths: names that stay the same as long as the fields do."""
    return {name: np.asarray(leaf) for name, leaf in _named(eqx.filter(tree, eqx.is_array)).items()}


def named_shapes(tree: Any) -> dict[str, tuple[int, ...]]:
    """The shapes of the arrays of a tree by the same names; the tree may also hold `ShapeDtypeStruct`s."""
    return {name: tuple(leaf.shape) for name, leaf in _named(eqx.filter(tree, _has_shape)).items()}


def save(path: pathlib.Path, tree: Any, notes: Mapping[str, Any]) -> None:
    """Writes the arrays of `tree` with `notes` (JSON values), atomically."""
    arrays = named_arrays(tree)
    text = json.dumps(notes, sort_keys=True)
    metadata = {"format": FORMAT, "notes": text, "digest": _digest(sorted(arrays.items()), text)}
    write_whole(path, safetensors.numpy.save(arrays, metadata))


def read_notes(path: pathlib.Path) -> dict[str, Any]:
    """Reads only the notes, which say what kind of tree to load; the digest of the whole file is checked first."""
    with _opened(path) as (file, metadata):
        return _notes(((name, file.get_tensor(name)) for name in sorted(_shapes(file))), metadata, path)


def load(path: pathlib.Path, like: Any) -> tuple[Any, dict[str, Any]]:
    """Loads the tree saved in `path`, with the structure of `like`, and its notes.

    Raises a `LantmError` if the file is damaged or holds something else.
    """
    expected = _named(eqx.filter(like, _has_shape))
    with _opened(path) as (file, metadata):
        # Compare shapes before reading, so that a huge file takes no memory.
        shapes = _shapes(file)
        names = {_former_name(name) if _former_name(name) in shapes else name: name for name in expected}
        _compare({name: leaf.shape for name, leaf in expected.items()}, _renamed(shapes, names), path)
        arrays = {name: file.get_tensor(name) for name in shapes}
        notes = _notes(sorted(arrays.items()), metadata, path)
    arrays = _renamed(arrays, names)
    if any(leaf.dtype == np.float64 and arrays[name].dtype == np.float32 for name, leaf in expected.items()):
        raise LantmError(f"{path} is in single precision, and JAX computes in double here: unset JAX_ENABLE_X64")
    _compare({name: leaf.dtype for name, leaf in expected.items()}, {n: a.dtype for n, a in arrays.items()}, path)

    def take(place: Any, leaf: Any) -> Any:
        # Not `jnp.asarray`, which compiles a program per shape.
        return jax.device_put(arrays[_name(place)]) if _has_shape(leaf) else leaf

    return jax.tree_util.tree_map_with_path(take, like), notes


@contextlib.contextmanager
def _opened(path: pathlib.Path) -> Iterator[tuple[Any, dict[str, str]]]:
    """The file and its metadata; errors while reading are raised as `LantmError`."""
    if not path.is_file():  # opening a pipe would block
        raise LantmError(f"there is no file {path}")
    try:
        with safetensors.safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            if metadata.get("format") != FORMAT:
                raise LantmError(f"{path} was not written by this version of lantm: its format is not {FORMAT}")
            yield file, metadata
    except _DAMAGE as error:
        raise LantmError(f"{path} is damaged ({first_line(error)}): restore it from a copy") from error


def _shapes(file: Any) -> dict[str, tuple[int, ...]]:
    return {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118 it is no mapping


def _notes(arrays: _Arrays, metadata: Mapping[str, str], path: pathlib.Path) -> dict[str, Any]:
    """The notes of a file, after verifying the digest of notes and arrays."""
    if metadata["digest"] != _digest(arrays, metadata["notes"]):
        raise LantmError(f"{path} is damaged: its contents do not match its digest; restore it from a copy")
    notes = json.loads(metadata["notes"])
    if not isinstance(notes, dict):
        raise LantmError(f"{path} is damaged: its notes are not a JSON object")
    return notes


def _digest(arrays: _Arrays, notes: str) -> str:
    digest = hashlib.sha256(notes.encode())
    for name, array in arrays:
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _compare(expected: Mapping[str, Any], found: Mapping[str, Any], path: pathlib.Path) -> None:
    """Raises a `LantmError` for the first difference between the expected and the found arrays."""
    if missing := sorted(expected.keys() - found.keys()):
        raise LantmError(f"{path} lacks {missing[0]!r}: it is damaged or holds another kind of machine")
    if surplus := sorted(found.keys() - expected.keys()):
        raise LantmError(f"{path} also has {surplus[0]!r}: it is damaged or holds another kind of machine")
    for name, kind in expected.items():
        if found[name] != kind:
            raise LantmError(
                f"{path} has {name!r} as {found[name]}, not {kind}: it is damaged or holds another kind of machine"
            )


def _former_name(name: str) -> str:
    """The name of an array in older versions, which had no layer inside of a machine.

    >>> _former_name("best_model.layer.controller.inputs.weight"), _former_name("layer.start.keys")
    ('best_model.symbols.weight', 'start.keys')
    """
    name = re.sub(r"(^|\.)layer\.controller\.inputs\.", r"\1symbols.", name)
    return re.sub(r"(^|\.)layer\.(controller\.)?", r"\1", name)


def _renamed(values: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    return {names.get(name, name): value for name, value in values.items()}


def _named(tree: Any) -> dict[str, Any]:
    leaves, _ = jax.tree_util.tree_flatten_with_path(tree)
    return {_name(place): leaf for place, leaf in leaves}


def _name(place: Any) -> str:
    return jax.tree_util.keystr(place, simple=True, separator=".")


def _has_shape(leaf: Any) -> bool:
    return eqx.is_array(leaf) or isinstance(leaf, jax.ShapeDtypeStruct)

"""Trees of arrays in files: whole or refused, whatever happens to the file."""

import json
import os
import pathlib
import resource
import struct
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given, settings
from hypothesis import strategies as st

from lantm import files
from lantm.errors import LantmError
from lantm.machine import LantmConfig
from lantm.weight_files import load, named_arrays, read_notes, save


class Part(NamedTuple):
    weight: Any
    count: Any


TREE = {
    "part": Part(jnp.arange(6.0).reshape(2, 3), jnp.asarray(7, jnp.int32)),
    "list": [jnp.array([True, False]), jnp.array([0.1, -0.0, jnp.nan, jnp.inf])],
    "name": "not an array",
}
LIKE = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype) if hasattr(leaf, "shape") else leaf, TREE)
NOTES = {"epoch": 12, "text": "häß \n lich"}


@pytest.fixture
def saved(tmp_path: pathlib.Path) -> pathlib.Path:
    path = tmp_path / "folder" / "tree.safetensors"
    save(path, TREE, NOTES)
    return path


@pytest.fixture(scope="module")
def contents(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("contents") / "tree.safetensors"
    save(path, TREE, NOTES)
    return path.read_bytes()


def refusal(path: pathlib.Path, like: Any = LIKE) -> str:
    """The one line that a bad file is refused with."""
    with pytest.raises(LantmError) as caught:
        load(path, like)
    message = str(caught.value)
    assert str(path) in message
    assert "\n" not in message
    return message


@pytest.mark.parametrize("like", [TREE, LIKE], ids=["arrays", "shapes"])
def test_round_trip(saved: pathlib.Path, like: Any) -> None:
    tree, notes = load(saved, like)
    assert notes == NOTES
    assert jax.tree.structure(tree) == jax.tree.structure(TREE)
    for one, other in zip(jax.tree.leaves(tree), jax.tree.leaves(TREE), strict=True):
        if isinstance(other, str):
            assert one == other
        else:
            assert (one.dtype, one.shape) == (other.dtype, other.shape)
            assert np.asarray(one).tobytes() == np.asarray(other).tobytes(), "bit for bit"


def test_the_notes_alone(saved: pathlib.Path, tmp_path: pathlib.Path) -> None:
    assert read_notes(saved) == NOTES
    with pytest.raises(LantmError, match="there is no file"):
        read_notes(tmp_path / "nothing")
    (tmp_path / "text").write_text("hello, world")
    with pytest.raises(LantmError, match="is damaged"):
        read_notes(tmp_path / "text")


def test_other_programs_can_read_it(saved: pathlib.Path) -> None:
    arrays = safetensors.numpy.load_file(saved)
    assert sorted(arrays) == ["list.0", "list.1", "part.count", "part.weight"]
    np.testing.assert_array_equal(arrays["part.weight"], TREE["part"].weight)


# Damage.


def test_cut_off_anywhere(contents: bytes, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "cut"
    for size in range(len(contents)):
        path.write_bytes(contents[:size])
        assert "damaged" in refusal(path)


def test_a_bit_flipped_anywhere(contents: bytes, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "flipped"
    for place in range(len(contents)):
        changed = bytearray(contents)
        changed[place] ^= 1 << (place % 8)
        path.write_bytes(changed)
        refusal(path)


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_bytes_replaced_removed_or_added(contents: bytes, tmp_path_factory: Any, data: st.DataObject) -> None:
    begin = data.draw(st.integers(0, len(contents)))
    end = data.draw(st.integers(begin, min(len(contents), begin + 64)))
    changed = contents[:begin] + data.draw(st.binary(max_size=64)) + contents[end:]
    if changed != contents:
        path = tmp_path_factory.getbasetemp() / "replaced"
        path.write_bytes(changed)
        refusal(path)


def test_what_is_no_checkpoint(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "file"
    for data in (b"", b"\0", b"hello, world", b"PK\x03\x04" + bytes(100), b"\x80\x04\x95" + bytes(50), bytes(1000)):
        path.write_bytes(data)
        assert "damaged" in refusal(path)
    assert "there is no file" in refusal(tmp_path / "nothing")
    (tmp_path / "directory").mkdir()
    refusal(tmp_path / "directory")
    safetensors.numpy.save_file({"a": np.zeros(3)}, path)
    assert "not written by this version" in refusal(path)


def test_claims_of_enormous_sizes_take_no_memory(contents: bytes, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "large"
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    path.write_bytes(struct.pack("<Q", 2**60) + contents[8:])
    assert "damaged" in refusal(path)
    path.write_bytes(struct.pack("<Q", 2**64 - 1) + contents[8:])
    assert "damaged" in refusal(path)
    (size,) = struct.unpack("<Q", contents[:8])
    for count in (2**58, 2**31):
        header = json.loads(contents[8 : 8 + size])
        begin = len(contents) - 8 - size
        header["zzz"] = {"dtype": "F32", "shape": [count], "data_offsets": [begin, begin + 4 * count]}
        text = json.dumps(header).encode()
        path.write_bytes(struct.pack("<Q", len(text)) + text + contents[8 + size :])
        refusal(path)
        if count == 2**31:  # a file that is as large as it says, without taking room on the disk
            os.truncate(path, 8 + len(text) + begin + 4 * count)
            assert "'zzz'" in refusal(path)
    path.unlink()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000, "kilobytes"


def test_another_machine(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "tree"
    save(path, {"a": jnp.zeros((2, 3)), "b": jnp.zeros(1)}, {})
    zeros = jnp.zeros
    assert "lacks 'c'" in refusal(path, {"a": zeros((2, 3)), "b": zeros(1), "c": zeros(1)})
    assert "also has 'b'" in refusal(path, {"a": zeros((2, 3))})
    assert "'a' as (2, 3), not (3, 2)" in refusal(path, {"a": zeros((3, 2)), "b": zeros(1)})
    assert "'b' as float32, not int32" in refusal(path, {"a": zeros((2, 3)), "b": zeros(1, jnp.int32)})


def test_a_digest_that_fits_other_notes(tmp_path: pathlib.Path, saved: pathlib.Path) -> None:
    """Whoever edits the notes or a number has to edit the digest too."""
    with safetensors.safe_open(saved, framework="numpy") as file:
        metadata = file.metadata()
    arrays = named_arrays(TREE)
    for changed_arrays, changed in (
        (arrays, {**metadata, "notes": metadata["notes"].replace("12", "13")}),
        ({**arrays, "part.count": np.asarray(8, np.int32)}, metadata),
        (arrays, {"format": metadata["format"], "digest": metadata["digest"]}),
        (arrays, {"format": metadata["format"], "notes": metadata["notes"]}),
    ):
        path = tmp_path / "edited"
        safetensors.numpy.save_file(changed_arrays, path, changed)
        assert "damaged" in refusal(path)


def test_a_failure_to_write_leaves_the_old_file(saved: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    before = saved.read_bytes()
    monkeypatch.setattr(files.os, "fsync", fails)
    with pytest.raises(LantmError, match=r"cannot write .*tree.safetensors: No space left on device"):
        save(saved, {"other": jnp.zeros(5)}, {})
    assert saved.read_bytes() == before
    assert [path.name for path in saved.parent.iterdir()] == [saved.name]


def test_a_machine_that_an_older_version_wrote(tmp_path: pathlib.Path) -> None:
    """Its arrays had other names, since it had no layer inside."""
    model = LantmConfig(cells=3, embedding=2, memory_width=2).build(5, jax.random.key(0))
    controller, layer = model.layer.controller, model.layer
    written = {
        "embedding": model.embedding,
        "symbols": {"weight": controller.inputs.weight, "bias": controller.inputs.bias},
        "recurrent": controller.recurrent,
        "heads": {"weight": layer.heads.weight, "bias": layer.heads.bias},
        "readout": {"weight": model.readout.weight, "bias": model.readout.bias},
        "start": {
            **{"hidden": controller.start.hidden, "cell": controller.start.cell},
            **{name: getattr(layer.start, name) for name in ("reading", "keys", "steps")},
            "slot": {name: getattr(layer.start.slot, name) for name in ("key", "vector", "strength")},
        },
    }
    path = tmp_path / "machine.safetensors"
    save(path, {"best_model": written}, {"epoch": 3})
    found, notes = load(path, {"best_model": jax.tree.map(jnp.zeros_like, model)})
    assert eqx.tree_equal(found["best_model"], model)
    assert notes == {"epoch": 3}


def test_a_file_in_single_precision_where_jax_computes_in_double(tmp_path: pathlib.Path) -> None:
    save(tmp_path / "one.safetensors", {"a": np.zeros(2, np.float32)}, {})
    with pytest.raises(LantmError, match="and JAX computes in double here: unset JAX_ENABLE_X64"):
        load(tmp_path / "one.safetensors", {"a": jax.ShapeDtypeStruct((2,), np.float64)})

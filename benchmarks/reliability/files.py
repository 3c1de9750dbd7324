"""Files that are cut off, changed, too large, or cannot be written."""

import json
import os
import pathlib
import random
import resource
import shutil
import struct
from collections.abc import Callable, Iterator
from functools import partial

import jax
import numpy as np
import safetensors.numpy

from benchmarks.reliability.trials import EPOCHS, EXPERIMENT, Count, assert_same, count, said_by, train_in
from lantm import weight_files
from lantm.errors import LantmError
from lantm.training import Learner, Progress, RunFolder
from lantm.training.learner import begin
from lantm.training.material import make_material

Trial = tuple[str, Callable[[], None]]
ROOM = 200_000  # kilobytes that reading a bad file may take


def newest(path: pathlib.Path) -> pathlib.Path:
    """The last checkpoint of a run."""
    return max((path / "checkpoints").glob("epoch-*.safetensors"))


def shapes() -> Learner:
    """What a checkpoint of the small training holds, without its numbers."""
    task = EXPERIMENT.build_task()
    lessons = make_material(EXPERIMENT, task).lessons
    one = partial(begin, EXPERIMENT.machine, lessons, task.vocabulary)
    return jax.eval_shape(jax.vmap(one), jax.ShapeDtypeStruct((EXPERIMENT.machines,), "int32"))


def offsets(data: bytes) -> Iterator[tuple[str, int]]:
    """Where a write can end: in every part of the file, at its edges and within it."""
    (header,) = struct.unpack("<Q", data[:8])
    yield from (("the length of the header", at) for at in (0, 1, 7, 8))
    yield from (("the header", at) for at in (9, 8 + header // 2, 7 + header, 8 + header))
    tensors = json.loads(data[8 : 8 + header])
    for name, tensor in tensors.items():
        if name != "__metadata__":
            begin, end = (8 + header + offset for offset in tensor["data_offsets"])
            yield from ((name, at) for at in {begin, (begin + end) // 2, end - 1, end} if at < len(data))


def power_lost(uninterrupted: pathlib.Path, scratch: pathlib.Path) -> Count:
    """The newest checkpoint ends at every class of offsets; or only its temporary file is there, or neither."""
    like = shapes()
    path = scratch / "power"
    shutil.copytree(uninterrupted, path)
    folder, data = RunFolder(path), newest(path).read_bytes()
    last = newest(path)
    before = EPOCHS - EXPERIMENT.recipe.test_every

    def cut(at: int) -> Callable[[], None]:
        def run() -> None:
            last.write_bytes(data[:at])
            epoch, _, warnings = folder.load_checkpoint(like)
            assert epoch == before, f"epoch {epoch} was taken"
            assert len(warnings) == 1, "it was not said"
            assert last.name in warnings[0], "it was not said which"

        return run

    def without_rename(left: bytes | None) -> Callable[[], None]:
        def run() -> None:
            last.unlink(missing_ok=True)
            temporary = last.with_name(f".{last.name}.99999999.tmp")
            if left is not None:
                temporary.write_bytes(left)
            epoch, _, warnings = folder.load_checkpoint(like)
            assert (epoch, warnings) == (before, []), "the one before it is whole and the newest"
            folder.forget_after(epoch)
            assert not temporary.exists(), "what was cut off is left"

        return run

    trials: list[Trial] = [(f"cut off at {at}, in {part}", cut(at)) for part, at in offsets(data)]
    trials += [("renamed to nothing", without_rename(None)), ("not renamed", without_rename(data))]
    trials += [("not renamed, half of it", without_rename(data[: len(data) // 2]))]
    return count(
        "power lost while a checkpoint is written",
        "the checkpoint before it is used, and a file that is not whole is named",
        trials,
    )


def bad_weights(flips: int, uninterrupted: pathlib.Path, scratch: pathlib.Path) -> Count:
    """Weight files with flipped bits, other shapes, missing tensors, headers that claim what is not there."""
    like = shapes()
    data = newest(uninterrupted).read_bytes()
    path = scratch / "bad.safetensors"
    (header,) = struct.unpack("<Q", data[:8])
    with safetensors.safe_open(newest(uninterrupted), framework="numpy") as file:
        metadata = file.metadata()
    arrays = safetensors.numpy.load(data)

    def refused(changed: bytes) -> Callable[[], None]:
        def run() -> None:
            path.write_bytes(changed)
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            said = None
            try:
                weight_files.load(path, like)
            except LantmError as error:
                said = str(error)
            assert said is not None, "it was taken"
            assert "\n" not in said, "more than one line"
            assert str(path) in said, "it does not name the file"
            taken = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
            assert taken < ROOM, f"it took {taken} kB"

        return run

    def saved(changed: dict[str, np.ndarray]) -> bytes:
        return safetensors.numpy.save(changed, metadata)

    places = random.Random(8)
    trials: list[Trial] = []
    for at in range(flips):
        changed = bytearray(data)
        place = places.randrange(8 + header) if at % 4 == 0 else places.randrange(len(data))
        changed[place] ^= 1 << places.randrange(8)
        trials.append((f"bit flipped in byte {place}", refused(bytes(changed))))
    for name, array in arrays.items():
        without = {other: values for other, values in arrays.items() if other != name}
        trials.append((f"without {name}", refused(saved(without))))
        trials.append((f"{name} of another shape", refused(saved({**arrays, name: array[:-1]}))))
        trials.append((f"{name} of another type", refused(saved({**arrays, name: array.astype(np.float16)}))))
    for claimed in (2**20, 2**31, 2**60, 2**63, 2**64 - 1):
        trials.append((f"header of {claimed} bytes", refused(struct.pack("<Q", claimed) + data[8:])))
    for size in (2**31, 2**58):
        values = json.loads(data[8 : 8 + header])
        end = len(data) - 8 - header
        values["zzz"] = {"dtype": "F32", "shape": [size], "data_offsets": [end, end + 4 * size]}
        text = json.dumps(values).encode()
        trials.append((f"tensor of {size} numbers", refused(struct.pack("<Q", len(text)) + text + data[8 + header :])))
    return count(
        "a weight file with flipped bits, a wrong shape, a missing tensor, a header that claims up to 2^64 bytes",
        f"refused in one line that names the file, with less than {ROOM // 1000} MB of memory",
        trials,
    )


def unwritable(begun: pathlib.Path, uninterrupted: pathlib.Path, scratch: pathlib.Path) -> Count:
    """A disk that fills up, a folder that becomes read-only, a line of metrics that is half written."""

    def full(kilobytes: int) -> Callable[[], None]:
        def run() -> None:
            path = scratch / f"full-{kilobytes}"
            shutil.copytree(begun, path)

            def fill(progress: Progress) -> None:  # from here on no file can grow beyond this
                resource.setrlimit(resource.RLIMIT_FSIZE, (1024 * kilobytes, 1024 * kilobytes))

            assert_clear(said_by(lambda: train_in(path, fill) and None, scratch / "said"))
            assert_goes_on(path, uninterrupted)

        return run

    def read_only() -> None:
        path = scratch / "read-only"
        shutil.copytree(begun, path)
        folders = [path, *(one for one in path.rglob("*") if one.is_dir())]

        def lock(progress: Progress) -> None:
            if progress.epoch < 12:  # the first epoch of this process imports what it needs
                return
            for folder in folders:
                folder.chmod(0o555)
            (path / "metrics.jsonl").chmod(0o444)
            if os.getuid() == 0:  # who may do anything would not notice
                os.setuid(65534)

        assert_clear(said_by(lambda: train_in(path, lock) and None, scratch / "said"))
        for folder in folders:
            folder.chmod(0o755)
        (path / "metrics.jsonl").chmod(0o644)
        assert_goes_on(path, uninterrupted)

    def half_a_line(text: str) -> Callable[[], None]:
        def run() -> None:
            path = scratch / "half"
            shutil.rmtree(path, ignore_errors=True)
            shutil.copytree(begun, path)
            with open(path / "metrics.jsonl", "a") as file:
                file.write(text)
            rows = [*RunFolder(path).metrics()]
            assert rows == [*RunFolder(begun).metrics()], "a line that is no line was read"
            assert_goes_on(path, uninterrupted)

        return run

    line = '{"epoch": 11, "seed": 0, "loss": 3.25, "gradient_norm"'
    trials: list[Trial] = [(f"no room beyond {kilobytes} kB a file", full(kilobytes)) for kilobytes in (1, 8, 24)]
    trials.append(("read-only folder", read_only))
    trials += [(f"half a line, {size} characters", half_a_line(line[:size])) for size in (1, 9, 20, len(line))]
    return count(
        "a full disk, a read-only folder, a half-written line of metrics",
        "one line says why; nothing is lost: with room again, it ends in the same weights, bit for bit",
        trials,
    )


def assert_clear(ended: tuple[int, str]) -> None:
    """A child that ended with one line that says why."""
    status, said = ended
    assert status == 2, f"status {status}: {said}"
    assert said.startswith("cannot write"), said
    assert said.count("\n") == 1, said


def assert_goes_on(path: pathlib.Path, uninterrupted: pathlib.Path) -> None:
    """With the fault mended, the training ends as if nothing had been."""
    status, said = said_by(lambda: train_in(path) and None, path.parent / "said")
    assert status == 0, said
    assert_same(path, uninterrupted)

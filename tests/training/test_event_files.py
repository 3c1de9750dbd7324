"""TensorBoard event files: the same numbers as in metrics.jsonl."""

import pathlib
import struct
from collections.abc import Iterator

import pytest
from tensorboardX.proto.event_pb2 import Event

from lantm.errors import LantmError
from lantm.training import events as events_module
from lantm.training.events import EventFiles


def events(folder: pathlib.Path) -> Iterator[Event]:
    """The records of all event files of a folder: length, checksum, data, checksum."""
    for path in sorted(folder.glob("events.out.tfevents.*")):
        data = path.read_bytes()
        while data:
            (size,) = struct.unpack("<Q", data[:8])
            yield Event.FromString(data[12 : 12 + size])
            data = data[12 + size + 4 :]


def scalars(folder: pathlib.Path) -> dict[tuple[str, int], float]:
    return {(value.tag, event.step): value.simple_value for event in events(folder) for value in event.summary.value}


def test_the_metrics_of_a_run(trained) -> None:
    path = trained.folder.path / "tensorboard"
    assert sorted(folder.name for folder in path.iterdir()) == [f"seed-{seed}" for seed in range(4)]
    expected: dict[int, dict[tuple[str, int], float]] = {seed: {} for seed in range(4)}
    for row in trained.folder.metrics():
        group = f"test-{row['test']}" if "test" in row else "train"
        for name, value in row.items():
            if name not in ("epoch", "seed", "test"):
                expected[row["seed"]][f"{group}/{name}", row["epoch"]] = float(value)
    for seed in range(4):
        found = scalars(path / f"seed-{seed}")
        assert found.keys() == expected[seed].keys()
        assert all(abs(found[key] - value) <= 1e-5 * abs(value) for key, value in expected[seed].items())
    assert ("train/loss", 6) in scalars(path / "seed-2")


def test_a_number_that_there_is_not_is_left_out(tmp_path: pathlib.Path) -> None:
    EventFiles(tmp_path, 0).write([{"epoch": 1, "seed": 5, "loss": None, "rate": 0.5}])
    assert scalars(tmp_path / "seed-5") == {("train/rate", 1): 0.5}


def test_a_resumed_run_hides_what_came_after_its_checkpoint(tmp_path: pathlib.Path) -> None:
    EventFiles(tmp_path, 0).write([{"epoch": epoch, "seed": 0, "loss": 1.0} for epoch in (1, 2, 3)])
    EventFiles(tmp_path, 2).write([{"epoch": 3, "seed": 0, "loss": 2.0}])
    starts = [event.step for event in events(tmp_path / "seed-0") if event.session_log.status == 1]
    assert starts == [3], "TensorBoard drops what an earlier file has from this step on"


def test_a_full_disk_is_said_at_once(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that writes later would end there, and the training would wait for it for ever."""

    def full(*args: object) -> None:
        raise OSError(28, "No space left on device")

    files = EventFiles(tmp_path, 0)
    files.write([{"epoch": 1, "seed": 0, "loss": 1.0}])
    monkeypatch.setattr(events_module, "open", full, raising=False)
    with pytest.raises(LantmError, match=r"cannot write .*seed-0.*: No space left on device"):
        files.write([{"epoch": 2, "seed": 0, "loss": 1.0}])

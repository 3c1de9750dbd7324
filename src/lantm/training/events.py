"""Writes the metrics as TensorBoard event files, one run per seed."""

import pathlib
import socket
import struct
import time
from typing import Any

from lantm.errors import LantmError
from lantm.files import destination


class EventFiles:
    """Writes rows of metrics; after a resume, TensorBoard hides events written after the checkpoint.

    The writer of tensorboardX has a thread, which a full disk ends; the training would then wait for it for ever.
    """

    def __init__(self, path: pathlib.Path | None, epoch: int):
        """`epoch` is the last epoch before a resume. Without a path, nothing is written."""
        self._path = path
        self._epoch = epoch
        self._file = f"events.out.tfevents.{time.time():.0f}.{socket.gethostname()}"
        self._begun: set[int] = set()

    def write(self, rows: list[dict[str, Any]]) -> None:
        """Adds the numbers of these rows."""
        if self._path is None or not rows:
            return
        from tensorboardX.proto.event_pb2 import Event  # imported late: where torch is installed, this takes seconds
        from tensorboardX.summary import scalar

        events: dict[int, list[Any]] = {}
        for row in rows:
            seed, epoch = row["seed"], row["epoch"]
            if seed not in self._begun:
                self._begun.add(seed)
                events[seed] = self._first_events()
            group = f"test-{row['test']}/" if "test" in row else "train/"
            events.setdefault(seed, []).extend(
                Event(wall_time=time.time(), step=epoch, summary=scalar(group + name, float(value)))
                for name, value in row.items()
                if name not in ("seed", "epoch", "test") and value is not None
            )
        for seed, added in events.items():
            self._append(self._path / f"seed-{seed}" / self._file, added)

    def _first_events(self) -> list[Any]:
        """The version of the format; after a resume, the step from which TensorBoard hides earlier events."""
        from tensorboardX.proto.event_pb2 import Event, SessionLog

        first = [Event(wall_time=time.time(), file_version="brain.Event:2")]
        if self._epoch:
            first += [Event(step=self._epoch + 1, session_log=SessionLog(status=SessionLog.START))]
        return first

    def _append(self, path: pathlib.Path, events: list[Any]) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with open(destination(path), "ab") as file:
                file.write(b"".join(map(_record, events)))
        except OSError as error:
            raise LantmError(f"cannot write {path}: {error.strerror or error}") from error


def _record(event: Any) -> bytes:
    """An event as a record: its length, a checksum, the event, a checksum."""
    from tensorboardX.record_writer import masked_crc32c

    data = event.SerializeToString()
    parts = (struct.pack("<Q", len(data)), data)
    return b"".join(part + struct.pack("<I", masked_crc32c(part)) for part in parts)

"""Writes the metrics as TensorBoard event files, one run per seed."""

import pathlib
from types import TracebackType
from typing import Any


class EventFiles:
    """Writes rows of metrics; after a resume, TensorBoard hides events written after the checkpoint."""

    def __init__(self, path: pathlib.Path | None, epoch: int):
        """`epoch` is the last epoch before a resume. Without a path, nothing is written."""
        self._path = path
        self._epoch = epoch
        self._writers: dict[int, Any] = {}

    def __enter__(self) -> "EventFiles":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for writer in self._writers.values():
            writer.close()

    def write(self, rows: list[dict[str, Any]]) -> None:
        """Adds the numbers of these rows."""
        if self._path is None or not rows:
            return
        from tensorboardX import SummaryWriter  # imported late: where torch is installed, this takes seconds

        for row in rows:
            seed, epoch = row["seed"], row["epoch"]
            if seed not in self._writers:
                self._writers[seed] = SummaryWriter(
                    str(self._path / f"seed-{seed}"), purge_step=self._epoch + 1 if self._epoch else None
                )
            group = f"test-{row['test']}/" if "test" in row else "train/"
            for name, value in row.items():
                if name not in ("seed", "epoch", "test") and value is not None:
                    self._writers[seed].add_scalar(group + name, float(value), epoch)

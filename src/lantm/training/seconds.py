"""How long a training took, all its stretches together; one that was killed does not count its last."""

import json
import pathlib

from lantm.training.checkpoint import write_whole


def seconds_spent(folder: pathlib.Path) -> float:
    """What was counted so far."""
    try:
        return float(json.loads((folder / "seconds.json").read_text())["seconds"])
    except (OSError, ValueError, LookupError, TypeError):
        return 0.0


def add_seconds(folder: pathlib.Path, seconds: float) -> None:
    """Counts another stretch."""
    total = round(seconds_spent(folder) + seconds, 1)
    write_whole(folder / "seconds.json", (json.dumps({"seconds": total}) + "\n").encode())

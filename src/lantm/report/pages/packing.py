"""A recording as a page carries it: symbols as text, arrays as few bytes.

Places are 32-bit numbers, gates and strengths 8 bits each. A read weight is the square root of itself in 8 bits, so
that faint ones keep their digits. All of it is compressed: most weights are nearly nothing.
"""

import base64
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from lantm.evaluation import Recording
from lantm.geometry import Geometry
from lantm.report.projection import Projection, projection
from lantm.tasks import Task

FAINTEST = 0.001  # of read weights: those below it cannot be seen, and nothing compresses better


def pack(recording: Recording, task: Task, geometry: Geometry | None) -> dict[str, Any]:
    """A scene of the viewer; `geometry` is that of the machine, None for a machine without a memory."""
    heads = recording.heads
    packed: dict[str, Any] = {
        "steps": recording.steps,
        "answer": recording.answer_start,
        "inputs": [task.symbol_name(int(symbol)) for symbol in recording.inputs],
        "expected": [task.symbol_name(int(symbol)) for symbol in recording.expected],
        "predicted": [task.symbol_name(int(symbol)) for symbol in recording.predicted],
        "mistakes": recording.wrong.tolist(),
        "firstMistake": recording.first_mistake,
        "reads": 0,
        "writes": 0,
        "slots": 0,
        "firstSlot": 0,
        "space": None,
        "data": "",
    }
    arrays: list[np.ndarray] = []
    if heads is not None and geometry is not None:
        memories = heads.memories
        keys = heads.keys.reshape(-1, heads.keys.shape[-1])
        flat = projection(geometry, np.concatenate([keys, memories.addresses]))
        packed |= {
            "reads": heads.read_heads,
            "writes": heads.write_heads,
            "slots": len(memories.strengths),
            "firstSlot": int(np.sum(memories.written_at < 0)),
            "weighed": heads.read_weights is not None,
            "space": _space(flat),
        }
        weights = heads.read_weights
        if weights is None:
            weights = np.zeros((recording.steps, heads.read_heads, len(memories.strengths)))
        times = np.repeat(np.arange(recording.steps, dtype=float), heads.keys.shape[1])
        arrays = [
            flat.place(keys, times).astype("<f4"),
            flat.place(memories.addresses, memories.written_at.astype(float)).astype("<f4"),
            _bytes(np.stack([heads.key_gates, heads.action_gates], axis=-1)),
            _bytes(memories.strengths),
            _bytes(np.sqrt(np.where(weights < FAINTEST, 0, np.minimum(weights, 1)))),
        ]
    whole = b"".join(array.tobytes() for array in arrays)
    packed["data"] = base64.b64encode(zlib.compress(whole, 9)).decode()
    return packed


def share_spaces(machines: Sequence[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The machines with a number in place of every key space, and the spaces: a sphere's net is written once."""
    spaces: list[dict[str, Any]] = []

    def numbered(part: Any) -> Any:
        if isinstance(part, list):
            return [numbered(one) for one in part]
        if not isinstance(part, dict):
            return part
        if (space := part.get("space")) is None:
            return {name: numbered(one) for name, one in part.items()}
        if space not in spaces:
            spaces.append(space)
        return part | {"space": spaces.index(space)}

    return [numbered(machine) for machine in machines], spaces


def _space(flat: Projection) -> dict[str, Any]:
    """What the viewer has to know of a projection: lines that are no keys, axes, and a word about it."""
    lines = [np.round(line[np.isfinite(line).all(axis=-1)], 4).tolist() for line in flat.outline]
    return {"outline": lines, "equal": flat.equal, "labels": list(flat.labels), "note": flat.note}


def _bytes(shares: Float[np.ndarray, "*shape"]) -> np.ndarray:
    """Numbers from 0 to 1 in 8 bits; what is not a number, of a machine that diverged, is nothing."""
    return np.asarray(np.round(255 * np.clip(np.nan_to_num(shares), 0, 1)), np.uint8)

"""Encodes a `Recording` for a page: symbols as text, arrays in few bytes.

Coordinates are stored as 32-bit floats, indices of settled memories as 32-bit integers, gates and strengths in 8 bits.
Read weights are stored as square roots in 8 bits, for a better resolution of small ones. Everything is compressed,
since most weights are nearly zero.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from lantm.evaluation import Recording
from lantm.geometry import Geometry
from lantm.report.marks import symbol_mark
from lantm.report.pages.binary import compressed
from lantm.report.projection import Projection, projection
from lantm.tasks import Source

FAINTEST = 0.001  # smaller read weights are invisible and stored as zero, which compresses better


def pack(recording: Recording, task: Source, geometry: Geometry | None) -> dict[str, Any]:
    """A scene of the viewer; `geometry` is that of the machine, None for other models."""
    heads = recording.heads
    packed: dict[str, Any] = {
        "steps": recording.steps,
        "answer": recording.answer_start,
        "inputs": [symbol_mark(task, int(symbol)) for symbol in recording.inputs],
        "expected": [symbol_mark(task, int(symbol)) for symbol in recording.expected],
        "predicted": [symbol_mark(task, int(symbol)) for symbol in recording.predicted],
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
            "settles": heads.settled_on is not None,
            "space": _space(flat),
        }
        weights = heads.read_weights
        if weights is None:
            weights = np.zeros((recording.steps, heads.read_heads, len(memories.strengths)))
        times = np.repeat(np.arange(recording.steps, dtype=float), heads.keys.shape[1])
        arrays = [
            flat.place(keys, times).astype("<f4"),
            flat.place(memories.addresses, memories.written_at.astype(float)).astype("<f4"),
            *([] if heads.settled_on is None else [heads.settled_on.astype("<i4")]),
            _bytes(np.stack([heads.key_gates, heads.action_gates], axis=-1)),
            _bytes(memories.strengths),
            _bytes(np.sqrt(np.where(weights < FAINTEST, 0, np.minimum(weights, 1)))),
        ]
    packed["data"] = compressed(b"".join(array.tobytes() for array in arrays))
    return packed


def share(machines: Sequence[dict[str, Any]], part: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Replaces each `part` of the machines by an index into a list of distinct parts, which is returned as well."""
    parts: list[dict[str, Any]] = []

    def numbered(tree: Any) -> Any:
        if isinstance(tree, list):
            return [numbered(one) for one in tree]
        if not isinstance(tree, dict):
            return tree
        found = {name: numbered(one) for name, one in tree.items() if name != part}
        if part not in tree:
            return found
        if tree[part] is not None and tree[part] not in parts:
            parts.append(tree[part])
        return found | {part: None if tree[part] is None else parts.index(tree[part])}

    return [numbered(machine) for machine in machines], parts


def _space(flat: Projection) -> dict[str, Any]:
    """A projection for the viewer: outline, axes and note."""
    lines = [np.round(line[np.isfinite(line).all(axis=-1)], 4).tolist() for line in flat.outline]
    return {"outline": lines, "equal": flat.equal, "labels": list(flat.labels), "note": flat.note}


def _bytes(shares: Float[np.ndarray, "*shape"]) -> np.ndarray:
    """Values from 0 to 1 in 8 bits; nan, from a diverged machine, becomes 0."""
    return np.asarray(np.round(255 * np.clip(np.nan_to_num(shares), 0, 1)), np.uint8)

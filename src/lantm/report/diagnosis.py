"""Explains in sentences, from a recording, why a machine answers right or wrong.

It examines how the read head moves through the memories, whether it settles on them and how far its path deviates from
theirs; how sharply it reads; and whether gates that should be closed or open leak.
"""

from typing import SupportsInt

import numpy as np
from jaxtyping import Float, Int

from lantm.evaluation import Heads, Recording, approach, stride
from lantm.geometry import Geometry
from lantm.report.marks import symbol_mark
from lantm.tasks import Source

LEAK = 0.02  # a gate leaks if it differs by more than this from both 0 and 1
STRAY = 0.1  # of the distance between two memories: reads that stay closer follow the path of writes
BLURRED = 0.9  # a reading with a smaller weight on its largest memory is a mixture
FAINT = 0.5  # strengths below this are weak


def diagnose(recording: Recording, task: Source, geometry: Geometry | None) -> list[str]:
    """Sentences about a recording; `geometry` is that of the machine, None for other models."""
    said = [_mistakes(recording, task)]
    heads = recording.heads
    if heads is None or geometry is None or recording.of_text:
        return said
    if not (np.isfinite(heads.keys).all() and np.isfinite(heads.memories.addresses).all()):
        return [*said, "Its keys are not finite numbers: it has diverged."]
    said += _path(recording, geometry)
    said += _sharpness(recording, task)
    said += _gates(recording)
    faint = float(np.median(heads.memories.strengths[heads.memories.written_at >= 0]))
    if faint < FAINT:
        said.append(f"What it writes is faint: the median strength is {faint:.2f}.")
    return said


def _mistakes(recording: Recording, task: Source) -> str:
    size, first, unit = len(recording.expected), recording.first_mistake, recording.unit
    units = "words" if recording.of_text else "symbols of the answer"
    if first is None:
        return f"All {size} {units} are right."
    given, expected = (_quoted(task, symbols[first]) for symbols in (recording.predicted, recording.expected))
    wrong = len(recording.wrong)
    return (
        f"{wrong} of the {size} {units} {'is' if wrong == 1 else 'are'} wrong. "
        f"The first mistake is {unit} {first + 1}, where it says {given} instead of {expected}."
    )


def _path(recording: Recording, geometry: Geometry) -> list[str]:
    """How the read head moves through the memories, and how far its path deviates from that of the writes."""
    gap = stride(recording, geometry)
    # The last reading is not used, and the one before it only for `<e>`, which needs no memory.
    near = approach(recording, geometry)
    slots, distances = near.slots[:-2], near.distances[:-2]
    if len(slots) < 2 or not np.isfinite(distances).all():
        return []
    if not gap > 0:
        return ["All its memories lie in one place, so no read can tell them apart."]
    head = int(np.argmin(np.median(distances, axis=0)))
    off = distances[:, head] / gap
    who = "The read head" if slots.shape[1] == 1 else f"Read head {head + 1}"
    said = [_moves(who, slots[:, head]), _drift(recording, off)]
    if recording.heads is not None and recording.heads.settled_on is not None:
        said.append(_settling(who, recording.heads.settled_on[recording.answer_start : -2, head]))
    return said


def _moves(who: str, slots: Int[np.ndarray, " reads"]) -> str:
    moves, counts = np.unique(np.diff(slots), return_counts=True)
    usual, share = int(moves[counts.argmax()]), counts.max() / counts.sum()
    if share < 0.5:
        return f"{who} goes through the memories in no steady order: no move makes up half of all."
    if usual == 0:
        way = "stays at one memory"
    else:
        amount = "one memory" if abs(usual) == 1 else f"{abs(usual)} memories"
        way = f"goes {'forwards' if usual > 0 else 'backwards'} by {amount} a symbol"
    return f"{who} {way}, in {_percent(share)} of its moves."


def _settling(who: str, settled_on: Int[np.ndarray, " reads"]) -> str:
    """After which reads the head settles on a memory; `settled_on` is -1 after reads where it does not."""
    missed = np.flatnonzero(settled_on < 0)
    if not missed.size:
        return f"{who} settles on a memory after every read of the answer."
    first, found = int(missed[0]), len(settled_on) - missed.size
    if first == 0:
        return f"{who} settles on a memory after {found or 'none'} of the {len(settled_on)} reads of the answer."
    before = "the first read" if first == 1 else f"the first {first} reads"
    lost = f"read {first + 1} is the first after which it does not ({missed.size} in all)"
    return f"{who} settles on a memory after {before} of the answer; {lost}."


def _drift(recording: Recording, off: Float[np.ndarray, " reads"]) -> str:
    """`off` is the distance of each read from the nearest memory, in units of the distance between two memories."""
    part = max(1, len(off) // 10)
    begins, ends, most = float(np.median(off[:part])), float(np.median(off[-part:])), float(off.max())
    if most < STRAY:
        return (
            "The read line lies on the write line: it is never further off than "
            f"{_percent(most)} of the distance between two memories."
        )
    grows = "drifts from" if ends > max(STRAY, 2 * begins) else "does not lie on"
    text = (
        f"The read line {grows} the write line: it is off by {_percent(begins)} of the distance between two memories "
        f"at the beginning, by {_percent(ends)} at the end"
    )
    first = recording.first_mistake
    if first is not None and 1 <= first <= len(off):
        text += f", and by {_percent(float(off[first - 1]))} where the first mistake is read"
    return f"{text}."


def _sharpness(recording: Recording, task: Source) -> list[str]:
    """The weight of the largest memory in a reading, and what was read for the first mistake."""
    heads = recording.heads
    if heads is None or heads.read_weights is None or not heads.read_weights.size:
        return []
    first = recording.first_mistake
    used = heads.read_weights[recording.answer_start - 1 : -1]
    peaks = used.max(axis=(1, 2))
    usual = float(np.median(peaks[:-1])) if len(peaks) > 1 else float(peaks[0])
    said = f"A reading takes {_percent(usual)} of one memory (median)"
    if first is None:
        return [f"{said}."]
    weights = used[first].max(axis=0)
    largest = np.argsort(-weights, kind="stable")[: 3 if weights.max() < BLURRED else 1]
    memories = ", ".join(
        f"{_percent(float(weights[slot]))} of memory {slot}{_written(recording, heads, task, int(slot))}"
        for slot in largest
        if weights[slot] >= 0.01
    )
    return [f"{said}; the first mistake is made from {memories or 'next to nothing'}."]


def _written(recording: Recording, heads: Heads, task: Source, slot: int) -> str:
    step = int(heads.memories.written_at[slot])
    return "" if step < 0 else f" ({_quoted(task, recording.inputs[step])})"


def _gates(recording: Recording) -> list[str]:
    """Gates that are neither closed nor open: of read heads during the answer, of write heads during the input."""
    heads, start = recording.heads, recording.answer_start
    assert heads is not None
    leaks = []
    for head in range(heads.keys.shape[1]):
        reads = head < heads.read_heads
        when, phase = (slice(start, None), "while it answers") if reads else (slice(1, start), "while it writes")
        count, number = (heads.read_heads, head) if reads else (heads.write_heads, head - heads.read_heads)
        who = f"{'read' if reads else 'write'}{f' {number + 1}' if count > 1 else ''}"
        for kind, gates in (("key", heads.key_gates), ("action", heads.action_gates)):
            values = gates[when, head]
            usual = float(np.median(values))
            shut = usual < 0.5
            worst = float(np.quantile(values, 0.9 if shut else 0.1))
            if (worst if shut else 1 - worst) > LEAK:
                limit, bound = (values.max(), "at most") if shut else (values.min(), "at least")
                opening = f"{_percent(usual)} (median), {_percent(float(limit))} {bound}"
                leaks.append(f"The {who} {kind} gate leaks {phase}: it is open by {opening}.")
    return leaks or [f"No gate leaks: all are within {_percent(LEAK)} of shut or open when it counts."]


def _quoted(task: Source, symbol: SupportsInt) -> str:
    return f"“{symbol_mark(task, int(symbol))}”"


def _percent(share: float) -> str:
    """A percentage, with a decimal for small values.

    >>> _percent(0.5), _percent(0.0123)
    ('50%', '1.2%')
    """
    value = 100 * share
    return f"{value:.0f}%" if value >= 9.95 or value == 0 else f"{value:.1f}%"

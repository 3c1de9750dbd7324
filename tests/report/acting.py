"""Recordings made by hand: a machine that copies as it should, or goes wrong where it is told to."""

import base64
import dataclasses
import zlib
from typing import Any

import numpy as np

from lantm.evaluation import Heads, Memories, Recording
from lantm.geometry import make_geometry
from lantm.report.pages.packed_recording import pack
from lantm.tasks import Corpus, Text, make_task

COPY = make_task("copy")
WORDS = ("<eos>", "the", "head", "reads", "its", "key", "<unk>")
TEXT = Text(Corpus(WORDS, *np.zeros((3, 8), np.int32)))
PLANE = make_geometry("translation")


def copying(length: int, wrong: tuple[int, ...] = (), read_gap: float = 1.0, step_gate: float = 0.0) -> Recording:
    """Copies "!"#$..." along the line x = 1, 2, 3...; the read head moves by `read_gap` a step."""
    symbols = 1 + np.arange(length) % 90
    answer_start = length + 1
    steps = answer_start + length + 1
    expected = np.append(symbols, COPY.end_of_output)
    predicted = expected.copy()
    predicted[list(wrong)] = 94  # "~"
    inputs = np.concatenate([[COPY.start], symbols, np.full(length + 1, COPY.end_of_input)])
    addresses = np.stack([np.arange(answer_start), np.zeros(answer_start)], axis=-1).astype(float)
    # The reading of step answer_start + i - 1 makes symbol i: it lies on memory i + 1, which `<s>` is before.
    x = np.clip(np.arange(steps) - answer_start + 1, 0, None) * read_gap + 1
    read_keys = np.stack([x, np.zeros(steps)], axis=-1)
    write_keys = np.stack([np.minimum(np.arange(steps), length), np.zeros(steps)], axis=-1)
    weights = np.zeros((steps, 1, answer_start))
    for step in range(1, steps):
        nearest = min(round(float(x[step])), min(step, answer_start) - 1)
        weights[step, 0, nearest] = 1.0
    gates = np.zeros((steps, 2))
    gates[:, 0] = step_gate
    heads = Heads(
        read_heads=1,
        keys=np.stack([read_keys, write_keys], axis=1),
        key_gates=np.zeros((steps, 2)),
        action_gates=gates,
        memories=Memories(addresses, np.ones(answer_start), np.arange(answer_start), np.zeros(answer_start, int)),
        seen=np.stack([np.zeros(steps, int), np.minimum(np.arange(steps), answer_start)], axis=-1),
        read_weights=weights,
    )
    return Recording(inputs, expected, predicted, heads)


def settling(recording: Recording, until: int | None = None) -> Recording:
    """The same of a machine whose read head settles on the memory that it reads, up to a step."""
    weights = recording.heads.read_weights
    settled_on = np.where(weights.max(axis=-1) > 0, weights.argmax(axis=-1), -1)
    settled_on[until if until is not None else recording.steps :] = -1
    return dataclasses.replace(recording, heads=dataclasses.replace(recording.heads, settled_on=settled_on))


def with_idle_head(recording: Recording, at: float, weights: np.ndarray) -> Recording:
    """The same of a machine whose first read head stands still at x = y = `at` and reads so much of the memories."""
    heads = recording.heads
    gates = np.zeros((recording.steps, 3))
    two = dataclasses.replace(
        heads,
        read_heads=2,
        keys=np.concatenate([np.full_like(heads.keys[:, :1], at), heads.keys], axis=1),
        key_gates=gates,
        action_gates=gates,
        read_weights=np.concatenate([weights, heads.read_weights], axis=1),
    )
    return dataclasses.replace(recording, heads=two)


def reading(words: str, wrong: tuple[int, ...] = ()) -> Recording:
    """Reads all words but the last and guesses every next one, each from the memory of the word before.

    A word is written at x = 0, 1, 2...; the read head stands above the memory that it reads.
    """
    symbols = np.array([WORDS.index(word) for word in words.split()])
    steps = len(symbols) - 1
    time = np.arange(steps)
    predicted = symbols[1:].copy()
    predicted[list(wrong)] = WORDS.index("<unk>")
    x = np.stack([np.maximum(time - 1, 0), time], axis=-1).astype(float)
    weights = np.zeros((steps, 1, steps))
    weights[time[1:], 0, time[:-1]] = 1.0
    heads = Heads(
        read_heads=1,
        keys=np.stack([x, np.array([[1.0, 0.0]] * steps)], axis=-1),
        key_gates=np.zeros((steps, 2)),
        action_gates=np.ones((steps, 2)),
        memories=Memories(np.stack([time, 0 * time], axis=-1).astype(float), np.ones(steps), time, 0 * time),
        seen=np.stack([0 * time, time], axis=-1),
        read_weights=weights,
    )
    return Recording(symbols[:-1], symbols[1:], predicted, heads)


def scene(length: int, wrong: tuple[int, ...] = (), **changes: Any) -> dict[str, Any]:
    """The same, packed; `changes` replace parts of it."""
    return pack(copying(length, wrong), COPY, PLANE) | changes


def elsewhere(recording: Recording, size: int) -> Recording:
    """The same with keys of so many numbers, in the first two of them."""
    heads, fit = recording.heads, np.eye(2, size)
    memories = dataclasses.replace(heads.memories, addresses=heads.memories.addresses @ fit)
    return dataclasses.replace(recording, heads=dataclasses.replace(heads, keys=heads.keys @ fit, memories=memories))


def machine(name: str, *scenes: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "problems": [{"name": f"problem {at}", "scene": one} for at, one in enumerate(scenes)]}


def unpacked(data: str) -> bytes:
    return zlib.decompress(base64.b85decode(data.translate(str.maketrans(",./", "&<>"))))

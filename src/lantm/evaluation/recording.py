"""`Recording`: everything one machine did on one problem, step by step, as NumPy arrays without padding."""

import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from lantm.batch import Batch
from lantm.compiling import compiled_quickly
from lantm.evaluation.answer import LONG
from lantm.geometry import Geometry
from lantm.machine import Model, Trace


@dataclasses.dataclass(frozen=True)
class Memories:
    """The final memory, in the order of writing; `Heads.seen` says which part each step could read."""

    addresses: Float[np.ndarray, "slots key"]
    strengths: Float[np.ndarray, " slots"]
    written_at: Int[np.ndarray, " slots"]
    """The step in which each memory was written; -1 for the initial memory."""
    written_by: Int[np.ndarray, " slots"]
    """The write head that wrote it, from 0; -1 for the initial memory."""


@dataclasses.dataclass(frozen=True, repr=False)
class Heads:
    """What the heads of a Lie access machine did; read heads come before write heads."""

    read_heads: int
    keys: Float[np.ndarray, "time heads key"]
    key_gates: Float[np.ndarray, "time heads"]
    action_gates: Float[np.ndarray, "time heads"]
    memories: Memories
    seen: Int[np.ndarray, "time 2"]
    """The range of memories that each step could read: first, and one past the last."""
    actions: Float[np.ndarray, "time heads action"] | None = None
    temperatures: Float[np.ndarray, "time read_heads"] | None = None
    """Emitted by SoftMax machines without a fixed temperature."""
    read_weights: Float[np.ndarray, "time read_heads slots"] | None = None
    """On request, since they grow with the square of the length."""
    settled_on: Int[np.ndarray, "time read_heads"] | None = None
    """The memory that each read head settled on, -1 for none; None for machines that do not settle. The next step
    begins there."""

    def __repr__(self) -> str:
        """One line; the arrays grow with the problem."""
        return (
            f"<Heads: {self.read_heads} read and {self.write_heads} write, {len(self.memories.strengths):,} memories; "
            f"arrays {', '.join(field.name for field in dataclasses.fields(self)[1:])}>"
        )

    @property
    def write_heads(self) -> int:
        """The number of write heads."""
        return int(self.keys.shape[1]) - self.read_heads

    @property
    def read_keys(self) -> Float[np.ndarray, "time read_heads key"]:
        """The keys of the read heads."""
        return self.keys[:, : self.read_heads]


@dataclasses.dataclass(frozen=True, repr=False)
class Recording:
    """One problem and everything that one machine did on it.

    Steps count from 0, the step of `<s>`. In step `answer_start` the input is the first `</s>` and the answer begins;
    from there on nothing is written, except the end of the input with `write_end`. The reading of a step reaches the
    controller in the next step, so symbol i of the answer depends on the reading of step `answer_start + i - 1`. With a
    text, every step writes and predicts the next word.
    """

    inputs: Int[np.ndarray, " time"]
    """The machine's input: `<s>`, the problem, and a `</s>` for every symbol of the answer."""
    expected: Int[np.ndarray, " answer"]
    """The expected answer, including its `<e>`."""
    predicted: Int[np.ndarray, " answer"]
    """The machine's answer."""
    heads: Heads | None
    """None for other models than Lie access machines."""

    def __repr__(self) -> str:
        """One line; the arrays grow with the problem."""
        size, wrong = len(self.expected), len(self.wrong)
        right = "all right" if not wrong else f"{wrong:,} wrong, the first at {self.first_mistake:,}"
        names = ", ".join(field.name for field in dataclasses.fields(self)[:-1])
        heads = "" if self.heads is None else "; heads"
        return (
            f"<Recording of {self.steps:,} steps, {self.unit}s of the answer: {size:,}, {right}; arrays {names}{heads}>"
        )

    @property
    def steps(self) -> int:
        """The number of steps."""
        return len(self.inputs)

    @property
    def answer_start(self) -> int:
        """The step in which the answer begins."""
        return len(self.inputs) - len(self.expected)

    @property
    def of_text(self) -> bool:
        """Whether it is a passage of a text, in which every step predicts the next word."""
        return self.answer_start == 0

    @property
    def unit(self) -> str:
        """The unit of an answer."""
        return "word" if self.of_text else "symbol"

    @property
    def wrong(self) -> Int[np.ndarray, " mistakes"]:
        """The positions of wrong symbols in the answer, from 0."""
        return np.flatnonzero(self.predicted != self.expected)

    @property
    def first_mistake(self) -> int | None:
        """The position of the first wrong symbol in the answer; None if all are right."""
        return int(self.wrong[0]) if self.wrong.size else None

    def read_step(self, place: int) -> int:
        """The step whose reading determined the symbol at this position of the answer."""
        return max(0, self.answer_start + place - 1)


def record(model: Model, batch: Batch, problem: int = 0, read_weights: bool = False) -> Recording:
    """Runs a single problem of a batch and records it."""
    alone, (start, steps) = compiled_quickly(_cut_out, static_argnums=1)(batch, problem)
    # Short problems take less time to run than to compile.
    compiled = compiled_quickly if batch.inputs.shape[0] < LONG else jax.jit
    predictions, trace = jax.device_get(compiled(_run, static_argnums=2)(model, alone, read_weights))
    start, steps = int(start), int(steps)
    return Recording(
        inputs=np.asarray(alone.inputs)[:steps, 0],  # NumPy needs no compilation
        expected=np.asarray(alone.targets)[start:steps, 0],
        predicted=predictions[start:steps],
        heads=None if trace is None else _heads(trace, steps, batch.write_capacity - int(alone.writes[0])),
    )


def answer_span(mask: Bool[Array, " time"]) -> tuple[Int[Array, ""], Int[Array, ""]]:
    """The first step of a problem's answer, and one past its last."""
    size = jnp.sum(mask, dtype="int32")
    end = jnp.max(jnp.where(mask, jnp.arange(mask.size, dtype="int32") + 1, 0))
    return end - size, end


def one_problem(batch: Batch, problem: int) -> Batch:
    """A batch with only this problem; the time axis keeps its length."""
    columns = slice(problem, problem + 1)
    writes = batch.writes[columns]
    return Batch(
        batch.inputs[:, columns],
        batch.targets[:, columns],
        batch.mask[:, columns],
        answer_span(batch.mask[:, problem])[1],
        writes,
        write_capacity=batch.write_capacity,
        answer_capacity=batch.answer_capacity,
    )


def _cut_out(batch: Batch, problem: int) -> tuple[Batch, tuple[Int[Array, ""], Int[Array, ""]]]:
    """A single problem, and the span of its answer."""
    alone = one_problem(batch, problem)
    return alone, answer_span(alone.mask[:, 0])


def _run(model: Model, batch: Batch, read_weights: bool) -> tuple[Int[Array, " time"], Trace | None]:
    output = model.trace(batch, read_weights)
    return jnp.argmax(output.logits[:, 0], axis=-1), output.trace


def _heads(trace: Any, steps: int, unwritten: int) -> Heads:
    """The heads from a `Trace` of one problem in NumPy arrays, with padding for `unwritten` more steps of writing."""
    write_heads, writes = trace.strengths.shape[2], int(trace.writes[0])
    slots = trace.memory.strengths.shape[1] - write_heads * unwritten
    return Heads(
        read_heads=trace.keys.shape[2] - write_heads,
        keys=trace.keys[:steps, 0],
        actions=trace.actions[:steps, 0],
        key_gates=trace.key_gates[:steps, 0],
        action_gates=trace.action_gates[:steps, 0],
        memories=memories(trace.memory.addresses[0, :slots], trace.memory.strengths[0, :slots], write_heads, writes),
        seen=np.stack([trace.windows.first, trace.windows.end], axis=-1)[:steps],
        temperatures=None if trace.temperatures is None else trace.temperatures[:steps, 0],
        read_weights=None if trace.read_weights is None else trace.read_weights[:steps, 0, :, :slots],
        settled_on=None if trace.settled_on is None else trace.settled_on[:steps, 0],
    )


def memories(
    addresses: Float[np.ndarray, "slots key"], strengths: Float[np.ndarray, " slots"], write_heads: int, writes: int
) -> Memories:
    """The memories that `write_heads` heads wrote in `writes` steps; earlier slots are the initial memory."""
    number = np.arange(len(strengths)) - (len(strengths) - write_heads * writes)
    step, head = np.divmod(number, write_heads)
    return Memories(addresses, strengths, np.where(number < 0, -1, step), np.where(number < 0, -1, head))


class Approach(NamedTuple):
    """The nearest memory to every read of the answer."""

    slots: Int[np.ndarray, "answer read_heads"]
    """The index of the nearest readable memory; -1 if there was none."""
    distances: Float[np.ndarray, "answer read_heads"]
    """Its distance; nan if there was none."""


def approach(recording: Recording, geometry: Geometry) -> Approach:
    """The nearest memory to every read of the answer; distances grow where the path of reads leaves that of writes.

    Compared with `stride`, they distinguish a read that is off by half a memory from one that has lost the path.
    """
    heads = _need_heads(recording)
    keys = heads.read_keys[recording.answer_start :]
    seen = heads.seen[recording.answer_start :]
    addresses = heads.memories.addresses
    squared = np.array(compiled_quickly(geometry.squared_distance)(keys[:, :, None], addresses))
    slot = np.arange(len(addresses))
    visible = (slot >= seen[:, :1]) & (slot < seen[:, 1:])
    squared = np.where(visible[:, None], squared, np.inf)
    if not len(addresses):
        return Approach(np.full(keys.shape[:2], -1), np.full(keys.shape[:2], np.nan))
    nearest = squared.argmin(axis=-1)
    distances = np.sqrt(np.take_along_axis(squared, nearest[..., None], axis=-1)[..., 0])
    lost = ~np.isfinite(distances)
    return Approach(np.where(lost, -1, nearest), np.where(lost, np.nan, distances))


def stride(recording: Recording, geometry: Geometry) -> float:
    """The median distance between consecutive memories of a write head; nan for fewer than two memories."""
    memories = _need_heads(recording).memories
    distances = []
    for head in range(int(memories.written_by.max(initial=-1)) + 1):
        line = memories.addresses[memories.written_by == head]
        distances.append(np.sqrt(np.asarray(compiled_quickly(geometry.squared_distance)(line[1:], line[:-1]))))
    together = np.concatenate(distances) if distances else np.zeros(0)
    return float(np.median(together)) if together.size else float("nan")


def _need_heads(recording: Recording) -> Heads:
    if recording.heads is None:
        raise ValueError("only a Lie access machine has heads")
    return recording.heads

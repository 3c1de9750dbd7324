"""Words about machines of which it is known what they do."""

import dataclasses

import acting
import numpy as np
import pytest

from lantm.evaluation import Recording
from lantm.report.diagnosis import diagnose


def words(recording: Recording) -> str:
    return " ".join(diagnose(recording, acting.COPY, acting.PLANE))


def changed(recording: Recording, **changes) -> Recording:
    return dataclasses.replace(recording, heads=dataclasses.replace(recording.heads, **changes))


def test_a_machine_that_copies_as_it_should() -> None:
    assert diagnose(acting.copying(20), acting.COPY, acting.PLANE) == [
        "All 21 symbols of the answer are right.",
        "The read head goes forwards by one memory a symbol, in 100% of its moves.",
        "The read line lies on the write line: it is never further off than 0% of the distance between two memories.",
        "A reading takes 100% of one memory (median).",
        "No gate leaks: all are within 2.0% of shut or open when it counts.",
    ]


def test_the_first_mistake() -> None:
    said = words(acting.copying(20, wrong=(4, 7)))
    assert "2 of the 21 symbols of the answer are wrong." in said
    assert "The first mistake is symbol 5, where it says “~” instead of “%”." in said
    assert "the first mistake is made from 100% of memory 5 (“%”)." in said
    assert "1 of the 21 symbols of the answer is wrong." in words(acting.copying(20, wrong=(20,)))


def test_drift() -> None:
    """Steps that are 1% too long: after 40 of them the head is 0.4 memories off."""
    said = words(acting.copying(40, wrong=(30,), read_gap=1.01))
    assert "The read line drifts from the write line: it is off by 2.0% of the distance between two memories" in said
    assert "at the beginning, by 38% at the end, and by 30% where the first mistake is read." in said


@pytest.mark.parametrize(
    ("until", "said"),
    [
        (None, "The read head settles on a memory after every read of the answer."),
        (31, "after the first 10 reads of the answer; read 11 is the first after which it does not (9 in all)."),
        (22, "after the first read of the answer; read 2 is the first after which it does not (18 in all)."),
        (21, "The read head settles on a memory after none of the 19 reads of the answer."),
    ],
)
def test_a_head_that_no_longer_settles(until: int | None, said: str) -> None:
    recording = acting.copying(20)
    assert said in words(acting.settling(recording, until))
    assert "settles" not in words(recording)


def test_a_head_that_settles_late() -> None:
    recording = acting.settling(acting.copying(20))
    recording.heads.settled_on[21:25] = -1
    assert "settles on a memory after 15 of the 19 reads of the answer." in words(recording)


def test_a_line_beside_the_line() -> None:
    recording = acting.copying(40)
    keys = recording.heads.keys + np.array([0.0, 0.3]) * np.array([1.0, 0.0])[:, None]
    said = words(changed(recording, keys=keys))
    assert "does not lie on the write line: it is off by 30% of the distance between two memories" in said
    assert "by 30% at the end." in said


@pytest.mark.parametrize(
    ("path", "way"),
    [
        (20 - np.arange(21), "goes backwards by one memory a symbol, in 100% of its moves"),
        (np.minimum(2 * np.arange(21), 20), "goes forwards by 2 memories a symbol, in 56% of its moves"),
        (np.full(21, 7), "stays at one memory, in 100% of its moves"),
        (np.random.default_rng(0).permutation(21), "goes through the memories in no steady order"),
    ],
)
def test_other_ways_through_the_memories(path: np.ndarray, way: str) -> None:
    recording = acting.copying(20)
    keys = recording.heads.keys.copy()
    keys[21:, 0, 0] = path
    assert way in words(changed(recording, keys=keys))


def test_gates_that_leak() -> None:
    said = words(acting.copying(20, step_gate=0.05))
    assert "The read action gate leaks while it answers: it is open by 5.0% (median), 5.0% at most." in said
    recording = acting.copying(20)
    gates = recording.heads.key_gates.copy()
    gates[:21, 1] = 0.9
    said = words(changed(recording, key_gates=gates))
    assert "The write key gate leaks while it writes: it is open by 90% (median), 90% at least." in said
    gates[:21, 1] = 0
    gates[21:, 1] = 0.5
    gates[:21, 0] = 0.5
    assert "No gate leaks" in words(changed(recording, key_gates=gates)), "write heads rest, read heads wait"


def test_blurred_readings_and_faint_memories() -> None:
    recording = acting.copying(20, wrong=(4,))
    weights = 0.6 * recording.heads.read_weights + 0.3 * np.roll(recording.heads.read_weights, 1, axis=-1)
    memories = dataclasses.replace(recording.heads.memories, strengths=np.full(21, 0.25))
    said = words(changed(recording, read_weights=weights, memories=memories))
    assert "A reading takes 60% of one memory (median); the first mistake is made from 60% of memory 5 (“%”)" in said
    assert "30% of memory 6 (“&”)" in said
    assert "faint: the median strength is 0.25" in said
    nothing = changed(recording, read_weights=0 * weights)
    assert "the first mistake is made from next to nothing" in words(nothing)


def test_memories_in_one_place() -> None:
    recording = acting.copying(5)
    memories = dataclasses.replace(recording.heads.memories, addresses=np.zeros((6, 2)))
    assert "All its memories lie in one place" in words(changed(recording, memories=memories))


def test_what_cannot_be_said_is_left_out() -> None:
    recording = acting.copying(5)
    assert words(dataclasses.replace(recording, heads=None)) == "All 6 symbols of the answer are right."
    diverged = changed(recording, keys=np.full_like(recording.heads.keys, np.nan))
    assert words(diverged).endswith("Its keys are not finite numbers: it has diverged.")
    assert "A reading takes" not in words(changed(recording, read_weights=None))
    assert "line" not in words(acting.copying(1)), "one read is no line"


def test_a_text() -> None:
    """Every word is read and every next one guessed: there is no line of reads that answers."""
    words = "the head reads its key <eos>"
    assert diagnose(acting.reading(words), acting.TEXT, acting.PLANE) == ["All 5 words are right."]
    assert diagnose(acting.reading(words, wrong=(1, 4)), acting.TEXT, acting.PLANE) == [
        "2 of the 5 words are wrong. The first mistake is word 2, where it says “<unk>” instead of “reads”."
    ]


def test_several_read_heads() -> None:
    """The one that stays close to the memories is told of."""
    recording = acting.copying(20)
    heads = recording.heads
    far = heads.keys[:, :1] + 100.0
    two = changed(
        recording,
        read_heads=2,
        keys=np.concatenate([far, heads.keys], axis=1),
        key_gates=np.concatenate([np.full((42, 1), 0.5), heads.key_gates], axis=1),
        action_gates=np.concatenate([heads.action_gates[:, :1], heads.action_gates], axis=1),
        read_weights=np.repeat(heads.read_weights, 2, axis=1),
    )
    said = words(two)
    assert "Read head 2 goes forwards by one memory" in said
    assert "The read 1 key gate leaks" in said

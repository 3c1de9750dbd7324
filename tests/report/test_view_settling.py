"""Heads that settle, and an end that is written, in the viewer."""

import dataclasses
from collections.abc import Callable

import acting
import numpy as np
from opened import Opened

from lantm.evaluation import Memories, Recording
from lantm.report.pages.viewer import viewer_page

Open = Callable[..., Opened]


def view_of(*recordings: Recording) -> str:
    scenes = [acting.pack(recording, acting.COPY, acting.PLANE) for recording in recordings]
    return viewer_page("a run", "a machine that copies", [acting.machine("seed 0", *scenes)], [0], 0)


def without(recording: Recording, step: int) -> Recording:
    """The same, but that the read head did not settle in a step."""
    settled_on = recording.heads.settled_on.copy()
    settled_on[step] = -1
    return dataclasses.replace(recording, heads=dataclasses.replace(recording.heads, settled_on=settled_on))


def test_a_head_that_settles_is_seen_to(open_page: Open) -> None:
    """In words, by a ring around the memory of the shown step, and by the reads of other steps, which are filled."""
    settles = acting.settling(acting.copying(8, read_gap=1.02))
    page = open_page(view_of(settles, without(settles, 13), without(settles, 11)))
    assert "settles there" in page.text(".legend")
    pictures = {}
    for problem, said in enumerate(("settled on memory 6 “&”", "did not settle", "settled on memory 6 “&”")):
        page.page.locator("select.problem").select_option(index=problem)
        page.page.mouse.move(2, 2)
        page.press("Home", "Shift+ArrowRight", *["ArrowRight"] * 3)
        assert page.text(".settled") == f"The read head {said}."
        pictures[page.picture("canvas.keys")] = problem
    assert len(pictures) == 3
    page.press("ArrowLeft", "ArrowLeft")
    assert page.text(".settled") == "The read head did not settle."
    page.press("ArrowLeft")
    assert page.text(".settled") == "The read head settled on memory 3 “#”."


def test_several_heads_that_settle(open_page: Open) -> None:
    recording = acting.settling(acting.copying(8))
    heads = recording.heads
    two = dataclasses.replace(
        heads,
        read_heads=2,
        keys=heads.keys[:, [0, 0, 1]] + np.array([[0, 0], [0, 0.3], [0, 0]]),
        key_gates=np.zeros((recording.steps, 3)),
        action_gates=np.zeros((recording.steps, 3)),
        read_weights=np.repeat(heads.read_weights, 2, axis=1),
        settled_on=np.concatenate([np.full_like(heads.settled_on, -1), heads.settled_on], axis=1),
    )
    page = open_page(view_of(dataclasses.replace(recording, heads=two)))
    assert page.text(".settled") == "Read head 1 did not settle, read head 2 settled on memory 6 “&”."


def test_machines_that_do_not_settle_say_nothing_of_it(open_page: Open) -> None:
    page = open_page(view_of(acting.copying(8)))
    assert page.page.locator(".settled").is_hidden()
    assert "settl" not in page.page.inner_text("body")


def test_the_end_that_is_written(open_page: Open) -> None:
    """A memory more than there are symbols, written in the first step of the answer."""
    recording = acting.copying(8)
    heads, memories = recording.heads, recording.heads.memories
    one_more = Memories(
        np.concatenate([memories.addresses, [[9.0, 0.0]]]), np.ones(10), np.arange(10), np.zeros(10, int)
    )
    weights = np.pad(heads.read_weights, ((0, 0), (0, 0), (0, 1)))
    ends = dataclasses.replace(heads, memories=one_more, read_weights=weights)
    page = open_page(view_of(dataclasses.replace(recording, heads=ends)))
    page.press("a")
    assert page.text(".words").startswith("Step 9. The end is written as memory 9. Symbol 1 of the answer: “!”, right")
    shown = page.picture("canvas.keys")
    page.press("ArrowRight")
    assert "written" not in page.text(".words")
    page.page.locator('.cell[data-step="9"]').hover()
    page.settle()
    assert page.picture("canvas.keys") == shown, "a symbol of the answer shows its read, not the end that is written"

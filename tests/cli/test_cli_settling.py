"""Commands on a machine whose read heads settle: trained, traced and viewed."""

import json
import pathlib

import hand_made
import jax
import numpy as np
import pytest
from pages import page_data

import lantm as library
from lantm.machine import LantmConfig


def test_a_trace_says_where_it_settles(lantm, tmp_path: pathlib.Path) -> None:
    machine = LantmConfig(
        cells=6, embedding=3, memory_width=3, settle_reads=True, write_end=True, geometry="rotation", read_heads=2
    )
    weights = jax.tree.map(lambda leaf: 3 * leaf, machine.build(128, jax.random.key(2)))  # so that it settles at times
    file = hand_made.trained(weights).save(tmp_path / "settles.safetensors")
    loaded = library.load(file)
    recording = loaded.trace(loaded.problem(4))
    steps = np.sum(recording.heads.settled_on[recording.answer_start :] >= 0, axis=0).tolist()
    said = lantm("trace", file, "--length", 4, "--out", tmp_path / "figures")
    assert f"read heads settled on a memory in {steps[0]} and {steps[1]} of 5 steps of the answer" in said.out
    assert min(steps) > 0
    assert "settles there" in (tmp_path / "figures" / "keys.svg").read_text()


@pytest.mark.thorough
def test_a_machine_that_settles(lantm, trained, tiny_flags: list[str], tmp_path: pathlib.Path) -> None:
    run, out = tmp_path / "run", tmp_path / "figures"
    switches = ["--settle-reads", "--cell-bound", 1, "--write-end", "--geometry", "rotation", "--read-heads", 2]
    assert lantm("train", *tiny_flags, *switches, "--seeds", 1, "--out", run).status == 0
    trace = ("trace", run, "--length", 6, "--out", out)
    said = json.loads(lantm(*trace, "--json").out)
    machine = library.load(run)
    recording = machine.trace(machine.problem(6))
    steps = np.sum(recording.heads.settled_on[recording.answer_start :] >= 0, axis=0).tolist()
    assert said["settled_steps"] == steps
    counts = f"{steps[0]} and {steps[1]}"
    assert f"read heads settled on a memory in {counts} of 7 steps of the answer" in lantm(*trace).out
    assert "settles there" in (out / "keys.svg").read_text()

    assert lantm("view", run, "--lengths", 6).status == 0
    [shown] = page_data((run / "view.html").read_text())["machines"]
    assert shown["machine"]["config"]["settle_reads"], "the page runs the machine"
    [_, training] = shown["problems"]
    assert [recorded["scene"]["settles"] for recorded in training["training"]] == [True] * 6
    report = page_data((run / "report.html").read_text())
    assert "settles on a memory after" in json.dumps(report["machines"][0]["problems"])

    plain = json.loads(lantm("trace", trained.folder.path, "--length", 6, "--out", out, "--json").out)
    assert "settled_steps" not in plain

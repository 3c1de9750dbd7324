"""The table of the paper's claims: its numbers by hand, and its verdicts."""

import math
import sys
from typing import Any

import numpy as np
import pytest
from written_results import ROOT, lines, result, write


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(ROOT / "tools")
    import claim_tables

    yield claim_tables
    for name in ("claim_tables", "study_tables"):
        sys.modules.pop(name, None)


def write_cell(root: Any, task: str, variation: str, epochs: list[int | None]) -> None:
    row = {"scale": "1x", "coarse": 50.0, "fine": 60.0, "epochs_until_solved_by_seed": epochs}
    name = "-".join(filter(None, [task, "lantm-invnorm", variation, "paper"]))
    write(root, "tweaks", name, result(task, "lantm-invnorm", "paper", [row]))


def test_nothing_is_run(tables: Any, tmp_path: Any) -> None:
    assert tables.claims(tmp_path).startswith("Not run yet: `lantm reproduce tweaks`")
    write_cell(tmp_path, "copy", "no-gate-bias", [100])
    assert not lines(tables.claims(tmp_path))[2:], "there is nothing to compare it with"


def test_a_claim_on_two_tasks_and_on_both(tables: Any, tmp_path: Any) -> None:
    for task in ("copy", "double"):
        write_cell(tmp_path, task, "", [100, 150, None, 150] * 8)
        write_cell(tmp_path, task, "no-gate-bias", [200, None, None, 300] * 8)
    rows = lines(tables.claims(tmp_path))[2:]
    assert [row[1] for row in rows] == ["copy", "double", "all 2"]
    assert {row[0] for row in rows} == {"the bias of the write gates helps"}
    copy, both = rows[0], rows[2]
    assert copy[2:4] == ["24 of 32", "16 of 32"]
    assert copy[4].startswith("+25 (")
    assert copy[5:7] == ["150", "250"]
    # Three of four are before everything but each other; one never comes, and ties with half of the others.
    assert copy[7].startswith(f"{100 * (0.75 + 0.25 * 0.5 * 0.5):.0f} (")
    assert copy[8] == both[8] == "yes"
    assert both[2:4] == ["48 of 64", "32 of 64"]


@pytest.mark.parametrize(
    ("ours", "theirs", "verdict"),
    [
        ([100] * 32, [None] * 32, "yes"),
        ([None] * 32, [100] * 32, "the opposite"),
        ([100, None] * 16, [None, 100] * 16, "no"),
        ([None] * 35, [None] * 33, "no"),
        ([100] * 31, [None] * 32, "too few seeds"),
    ],
)
def test_verdicts(tables: Any, tmp_path: Any, ours: list[Any], theirs: list[Any], verdict: str) -> None:
    write_cell(tmp_path, "copy", "", ours)
    write_cell(tmp_path, "copy", "no-interpolation", theirs)
    assert lines(tables.claims(tmp_path))[2][8] == verdict


def test_intervals_contain_the_truth(tables: Any) -> None:
    """In about 95% of draws of seeds that solve their tasks at random epochs, or never."""
    random = np.random.default_rng(1)

    def drawn(chance: float, mean: float) -> list[float]:
        return [random.exponential(mean) if random.random() < chance else math.inf for _ in range(32)]

    # Both solve: the sooner one has 2 of 3 chances. Only one solves: it is first. None does: a tie.
    truth = 0.6 * 0.5 * 2 / 3 + 0.6 * 0.5 + 0.4 * 0.5 * 0.5
    within = differs = 0
    for _ in range(200):
        ours, theirs = drawn(0.6, 100), drawn(0.5, 200)
        _, low, high = tables.sooner([tables.Seeds("copy", ours, theirs)])
        within += low <= truth <= high
        solved = [sum(map(math.isfinite, seeds)) for seeds in (ours, theirs)]
        low, high = tables.difference(solved[0], 32, solved[1], 32)
        differs += low <= 0.1 <= high
    assert 0.9 <= within / 200 <= 0.99
    assert 0.9 <= differs / 200 <= 0.99

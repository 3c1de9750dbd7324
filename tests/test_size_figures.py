"""What a step costs against every size: what it takes at the least, and what the page says of it."""

import dataclasses
import json
import pathlib
from typing import Any

import jax
import pytest
from written_results import ROOT

from benchmarks import sizes
from lantm.machine import LantmConfig
from lantm.report.figures.canvas import style


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(ROOT / "tools")
    import size_figures

    return size_figures


def record(**microseconds: list[float]) -> dict[str, Any]:
    rows = [
        {
            **{"axis": axis, "size": 4**at, "steps": 130, "microseconds_per_step": time},
            **{"of_arithmetic": 2.0, "of_traffic": 5.0 * at, "kernels": at == 0},
        }
        for axis, times in microseconds.items()
        for at, time in enumerate(times)
    ]
    made = {"command": "python -m benchmarks.sizes", "date": "2026-11-18T00:00:00", "device": "a device"}
    return made | {"multiply_adds_per_second": 3e12, "bytes_per_second": 4e12, "rows": rows}


def test_the_least_work() -> None:
    """By hand, for 3 cells and two heads in a plane, with 5 memories of 2 numbers, of 7 problems."""
    config = dataclasses.replace(LantmConfig(), cells=3, memory_width=2)
    emission = 2 * (2 + 1 + 2 + 1) + 2 + 1  # two heads' keys, actions and gates, a vector and its strength
    products = (2 + 3) * 12 + 3 * emission + 3 * 11
    state = 2 + 3 + 3 + 12 + emission + 2 * (2 + 2)
    work = sizes.Work.of(config, problems=7, memories=5, symbols=11)
    assert work.multiply_adds == 3 * 7 * (products + 5 * (2 + 2))
    assert work.bytes_moved == 4 * 7 * 2 * state
    many = sizes.Work.of(config, problems=7, memories=10**6, symbols=11)  # 140 MB: more than a cache holds
    assert many.bytes_moved - work.bytes_moved == 4 * 7 * 4 * 10**6 * (2 + 2 + 1)


def test_a_memory_of_so_many_slots_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizes, "BATCH", 2)
    run, steps, _, served = sizes.contender("memories", 5)
    _, d_states = run()
    assert (steps, served) == (16, False)
    assert d_states.memory.vectors.shape == (2, 5, 20)
    assert (abs(d_states.memory.vectors) > 0).all()


def test_sizes_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[int] = []
    found = sizes.in_turns(
        {size: lambda size=size: ran.append(size) or jax.numpy.zeros(()) for size in (1, 2)}, rounds=2
    )
    assert found.keys() == {1, 2}
    assert ran == [1, 2, 1, 1, 2, 2, 1, 1, 2, 2]  # all once, untimed; then each once before it is timed


def test_the_page(figures: Any, tmp_path: pathlib.Path) -> None:
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "sizes-gpu.json").write_text(json.dumps(record(cells=[10, 12, 40], seeds=[7, 8, 9])))
    page = figures.sizes(tmp_path)
    assert "Not measured yet on a CPU" in page
    assert "3,000 billion multiply-adds and 4,000 GB per second" in page
    assert "| cells of the controller | 1 | 16 | 10 | 40 | 16 | 25% |" in page
    assert "| runs at once | 1 | 16 | 7 | 9 | - | 111% |" in page


def test_labels_do_not_meet(figures: Any) -> None:
    assert figures.apart([1, 8, 32, 128, 512, 1024, 4096]) == [1, 8, 32, 128, 512, 4096]
    assert figures.apart([50, 64, 100, 512]) == [50, 100, 512]


def test_the_figure(figures: Any) -> None:
    with style():
        drawn = figures.draw(record(cells=[10, 12, 40], seeds=[7, 8, 9]))
    assert [axes.get_title() for axes in drawn.axes] == ["cells of the controller", "runs at once"]
    measured, kernels, loops, least = drawn.axes[0].lines
    assert measured.get_xydata().tolist() == [[1, 10], [4, 12], [16, 40]]
    assert kernels.get_xydata().tolist() == [[1, 10]]
    assert loops.get_xydata().tolist() == [[4, 12], [16, 40]]
    assert least.get_xydata().tolist() == [[1, 2], [4, 5], [16, 10]]

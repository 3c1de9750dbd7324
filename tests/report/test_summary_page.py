"""summary.html in a real browser, and what stands in it."""

from collections.abc import Callable

import pytest
from opened import Opened
from pages import page_data
from screens import WINDOWS, accessibility_faults, faults

from lantm.report.pages import CellResult, TableOfCells, summary_page

HOSTILE = "<img src=x onerror=alert(1)>"


def scores(scale: str, coarse: float, paper: int | None, passed: bool | None) -> dict[str, object]:
    figures = None if paper is None else {"coarse": paper, "fine": 100}
    more = {"median_coarse": 50.06, "median_fine": 99.99, "solved": 3, "seeds": 8}
    return {"scale": scale, "coarse": coarse, "fine": 100.0, "paper": figures, "pass": passed, **more}


def record(*rows: dict[str, object]) -> dict[str, object]:
    return {"rows": rows, "training_seconds": 100.0, "scoring_seconds": 20.0}


@pytest.fixture(scope="module")
def text() -> str:
    perplexity = {"scale": "test", "perplexity": 123.456, "median_perplexity": 130.0, "seeds": 4}
    cells = [
        CellResult(["copy", "lantm-invnorm"], record(scores("1x", 99.97, 100, True), scores("2x", 12.0, 99, False))),
        CellResult(["copy", "lstm", HOSTILE], record(scores("1x hard", 100.0, None, None))),
        CellResult(["reverse", "lantm-softmax"], None),
    ]
    words = [CellResult(["text", "lstm"], record({**perplexity, "paper": {"perplexity": 124}, "pass": True}))]
    tables = [TableOfCells("sequences", "paper", "tasks", cells), TableOfCells("language", "paper", "a text", words)]
    return summary_page(tables, {"device": "a small GPU", "GPU busy": None}, quick=False)


def test_what_it_says(text: str) -> None:
    data = page_data(text)
    assert (data["cells"], data["figures"]) == ([3, 4], [2, 3])
    assert data["facts"] == [["device", "a small GPU"]]
    first, second = data["tables"]
    assert (first["done"], first["cells"], first["passed"], first["compared"]) == (2, 3, 1, 2)
    assert first["rows"][0] == {
        **{"cell": "copy InvNorm", "scale": "1x", "paper": "100/100", "best": "99.9/100.0", "median": "50.0/99.9"},
        **{"solved": "3 of 8", "verdict": "passed", "minutes": "2.0"},
    }
    assert [row["verdict"] for row in first["rows"]] == ["passed", "missed", "", ""]
    assert first["rows"][-1] == {"cell": "reverse SoftMax", "verdict": ""}, "not done yet"
    row = second["rows"][0]
    assert (row["paper"], row["best"], row["median"], row["solved"]) == ("124", "123.46", "130.00", "")


@pytest.mark.parametrize("dark", [False, True])
def test_it_draws_itself_on_every_screen(open_page: Callable[..., Opened], text: str, dark: bool) -> None:
    page = open_page(text, dark=dark, drawn=".tile")
    shown = page.page.locator("main").inner_text()
    for words in ("99.9/100.0", "missed", "not done yet", "2 of 3", f"copy LSTM {HOSTILE}", "123.46"):
        assert words in shown
    assert page.page.locator("img").count() == 0
    assert page.complaints == []
    assert [fault for window in WINDOWS for fault in faults(page, *window)] == []
    assert accessibility_faults(page) == []

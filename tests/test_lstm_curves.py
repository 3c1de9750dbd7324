"""The learning curves of the LSTM from a stored result: the table, and the picture."""

import pathlib
import sys
from typing import Any

import pytest
from written_results import ROOT, lines, result, write


@pytest.fixture
def curves(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(ROOT / "tools")
    import lstm_curves

    yield lstm_curves
    for name in ("lstm_curves", "study_tables"):
        del sys.modules[name]


def stored() -> dict[str, Any]:
    """Three seeds, of which the second is the best in the end; tests every 20 epochs of 100 updates."""
    epochs = list(range(20, 261, 20))
    scores = [[index, 2.0 * index, None] for index in range(13)]
    row = {"scale": "1x", "coarse": 24.0, "fine": 48.0, "pass": False, "paper": {"coarse": 58, "fine": 97}}
    found = result("copy", "lstm", "tuned", [row, {**row, "scale": "2x"}])
    fine = [[2 * value if value is not None else 0.0 for value in of_seeds] for of_seeds in scores]
    found["tests"] = {"1x": {"epochs": epochs, "coarse": scores, "fine": fine}}
    found["lengths_reached"] = {"epochs": [1, 41, 90], "longest": [[3, 3, 3], [3, 5, 3], [5, 7, 3]]}
    return found


def test_nothing_is_run(curves: Any, tmp_path: pathlib.Path) -> None:
    assert curves.table(tmp_path) == "Not run yet: `lantm reproduce sequences --recipe tuned --models lstm` does it."
    with pytest.raises(SystemExit, match="no results yet"):
        curves.draw(tmp_path)


def test_the_table_goes_from_the_first_test_to_the_last(curves: Any, tmp_path: pathlib.Path) -> None:
    write(tmp_path, "sequences", "copy-lstm-tuned", stored())
    found = lines(curves.table(tmp_path))
    assert len(found) == 2 + 10
    assert found[2][:4] == ["copy", "2,000", "3", "0.0/0.0"]
    assert found[4][:4] == ["copy", "8,000", "5", "6.0/12.0"]
    assert found[-1][:4] == ["copy", "26,000", "7", "24.0/48.0"]


def test_the_picture_has_a_panel_and_is_linked(curves: Any, tmp_path: pathlib.Path) -> None:
    pytest.importorskip("matplotlib")
    write(tmp_path, "sequences", "copy-lstm-tuned", stored())
    curves.draw(tmp_path)
    assert "<!-- copy -->" in (tmp_path / curves.PICTURE).read_text()
    assert curves.table(tmp_path).startswith("![scores by updates](lstm-curves.svg)\n")


def test_the_papers_table_has_a_column_of_it(curves: Any, tmp_path: pathlib.Path) -> None:
    import study_tables

    write(tmp_path, "sequences", "copy-lstm-tuned", stored())
    found = lines(study_tables.sequences(tmp_path))
    assert found[0][4:] == ["ours, `tuned`: 1x", "2x", "seeds that solve 1x, 2x"]
    assert found[4][:5] == ["copy", "LSTM", "58/97", "0/52", "24.0/48.0"]
    assert found[2][4] == "-", "InvNorm is not trained by it"

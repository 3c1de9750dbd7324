"""`lantm reproduce all` at work, on two small studies that share a training, and one with a training of its own."""

import dataclasses
import json
import pathlib
import shutil

import pytest
from pages import page_data

from lantm.grids import Cell, Request, Study
from lantm.grids.studies import STUDIES, whole
from lantm.grids.studies.whole import Part

FIGURES = {"1x": {"coarse": 0, "fine": 0}, "2x": {"coarse": 100, "fine": 100}}
KEYS = ["sizes/copy-lantm-invnorm-paper", "lengths/copy-lantm-invnorm-paper", "sizes/copy-lantm-invnorm-small-paper"]


@pytest.fixture
def runs(trained, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """The folder of the runs; the first training is complete."""
    usual = trained.experiment
    small = dataclasses.replace(usual, first_seed=4)  # nothing has to be compiled for it

    def sizes(request: Request) -> list[Cell]:
        return [
            Cell(one, FIGURES, request, scales=(1, 2), varied=varied, extra={"size": varied or "usual"})
            for one, varied in ((usual, ""), (small, "small"))
        ]

    def lengths(request: Request) -> list[Cell]:
        return [Cell(usual, {}, request, scales=(3,))]

    studies = Study("sizes", "two sets of seeds", sizes), Study("lengths", "further lengths", lengths)
    for study in studies:
        monkeypatch.setitem(STUDIES, study.name, study)
    monkeypatch.setattr(whole, "PARTS", tuple(Part(study) for study in studies))
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "runs" / "reproduce"
    shutil.copytree(trained.folder.path, path / "runs" / "copy-lantm-invnorm-paper")
    return path


def test_stopped_continued_and_shown(lantm, runs: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = ("reproduce", "all", "--problems", 32)
    stopped = lantm(*asked, "--minutes", 1e-9)
    assert stopped.status == 130
    assert "rerun to continue: lantm reproduce all --problems 32 --minutes 1e-09" in stopped.out
    assert not json.loads(pathlib.Path("results/reproduce-all.json").read_text())["complete"]
    waiting = [row for table in page_data((runs / "summary.html").read_text())["tables"] for row in table["rows"]]
    assert [row.get("best") for row in waiting] == [None] * 3

    said = lantm(*asked, "--only", "usual")
    assert (said.status, said.err) == (0, "")
    assert "sizes copy lantm-invnorm translation paper [0/1]" not in said.out, "one study needs no name"

    said = lantm(*asked)
    assert (said.status, said.err) == (0, "")
    assert said.out.startswith("language is left out: it needs a text, --data FOLDER")
    lines = [line for line in said.out.splitlines() if line.startswith(("running", "done"))]
    assert "lengths copy lantm-invnorm translation paper [1/3]" in lines[0], "the first is done already"
    assert "sizes copy lantm-invnorm translation paper [3/3]" in lines[-1]
    assert said.out.endswith("every cell beside the paper's: runs/reproduce/summary.html\n")
    assert [line.split() for line in said.out.splitlines() if line.startswith((" sizes", " lengths"))] == [
        [*["sizes", "paper", "2", "of", "2", "2", "of", "4"], *_minutes(KEYS[0], KEYS[2])],
        [*["lengths", "paper", "1", "of", "1"], *_minutes(KEYS[1])],
    ]
    account = json.loads(pathlib.Path("results/reproduce-all.json").read_text())
    assert (account["complete"], account["cells"]) == (True, KEYS)
    assert account["command"] == "lantm reproduce all --problems 32"
    assert all(pathlib.Path("results", f"{key}.json").is_file() for key in KEYS)

    again = lantm(*asked, "--json")
    assert again.status == 0
    assert "running" not in again.err
    rows = json.loads(again.out)
    assert [(row["study"], row["scale"]) for row in rows] == [
        *(("sizes", "1x"), ("sizes", "2x"), ("lengths", "3x")),
        *(("sizes", "1x"), ("sizes", "2x")),
    ]
    _check_page(runs / "summary.html", rows)


def _minutes(*keys: str) -> list[str]:
    records = [json.loads(pathlib.Path("results", f"{key}.json").read_text()) for key in keys]
    return [f"{sum(record['training_seconds'] + record['scoring_seconds'] for record in records) / 60:.1f}"]


def _check_page(path: pathlib.Path, rows: list[dict[str, object]]) -> None:
    data = page_data(path.read_text())
    assert (data["cells"], data["figures"]) == ([3, 3], [2, 4])
    assert [(table["study"], table["recipe"]) for table in data["tables"]] == [("sizes", "paper"), ("lengths", "paper")]
    shown = data["tables"][0]["rows"]
    assert [row["verdict"] for row in shown] == ["passed", "missed"] * 2
    assert [row["paper"] for row in shown] == ["0/0", "100/100"] * 2
    assert [row["cell"] for row in shown] == ["copy InvNorm usual"] * 2 + ["copy InvNorm small"] * 2
    assert shown[0]["solved"] == f"{rows[0]['solved']} of 4"
    facts = dict(data["facts"])
    assert {"command", "time", "trained on", "page written"} <= facts.keys()
    trained = {json.loads(pathlib.Path("results", f"{key}.json").read_text())["trained"].get("device") for key in KEYS}
    assert facts["trained on"] == "; ".join(sorted(filter(None, trained))), "not where the page was written"


def test_a_quick_one_is_kept_apart(lantm, runs: pathlib.Path) -> None:
    name = "copy-lantm-invnorm-paper"
    shutil.copytree(runs / "runs" / name, runs / "runs" / f"{name}-quick")
    said = lantm("reproduce", "all", "--quick", "--problems", 32, "--only", "usual")
    assert (said.status, said.err) == (0, "")
    assert said.out.startswith("Quick version")
    assert (runs / "summary-quick.html").is_file()
    assert not (runs / "summary.html").exists()
    assert pathlib.Path("runs/quick/reproduce-all.json").is_file()
    assert not pathlib.Path("results").exists()


@pytest.mark.parametrize("flags", [("--recipe", "paper"), ("--recipe=robust",), ("--from-zoo",)])
def test_what_is_for_one_study(refused, flags: tuple[str, ...]) -> None:
    said = refused("reproduce", "all", *flags)
    assert "applies to a single study: leave it out, or name a study instead of all" in said


def test_it_is_in_the_help(lantm) -> None:
    assert f"all: {whole.SUMMARY}." in " ".join(lantm("reproduce", "--help").out.split())

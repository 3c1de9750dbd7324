"""report.html in a real browser, and what stands in it."""

import dataclasses
import json
import pathlib
from collections.abc import Callable

import numpy as np
import pytest
from engine import in_node, needs_node
from opened import Opened
from pages import page_data
from screens import WINDOWS, accessibility_faults, faults

from lantm.errors import LantmError
from lantm.evaluation import Scores, record
from lantm.report.pages import run_report
from lantm.report.pages.document import json_in_html
from lantm.report.pages.run_report import report_lengths, report_page, try_report, write_report
from lantm.report.pages.viewer import sampled_problems, usual_lengths
from lantm.tasks import Lengths, make_task
from lantm.trained import Trained
from lantm.training import RunFolder, score_rows

HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def run(trained, tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """A complete run with a name that looks like markup."""
    path = tmp_path_factory.mktemp("report") / HOSTILE
    path.mkdir()
    for name in ("experiment.json", "metrics.jsonl"):
        (path / name).write_bytes((trained.folder.path / name).read_bytes())
    rows = score_rows(trained.experiment, trained.result.tests)
    folder = RunFolder.open(path)
    folder.write_summary({"rows": rows, "epoch": 6, "seconds": 12.0})
    return folder


@pytest.fixture(scope="module")
def machines(trained, run: RunFolder) -> Trained:
    return dataclasses.replace(trained.machines, name=str(run.path), folder=run)


@pytest.fixture(scope="module")
def text(machines: Trained) -> str:
    return report_page(machines)


def test_what_it_says(text: str, trained) -> None:
    data = page_data(text)
    assert data["title"] == HOSTILE
    assert [row["scale"] for row in data["rows"]] == ["1x", "2x"]
    for row in data["rows"]:
        low, high = row["interval"]
        assert 0 <= low <= row["coarse"] <= high <= 100
        assert row["best_seed"] == data["best"], "of the machine that is shown"
        for name in ("coarse", "interval", "fine", "first_error"):
            assert row[name] == row[f"{name}_by_seed"][data["best"]]
    by_length = data["byLength"]
    assert by_length["lengths"] == [1, 2, 3, 4, 6, 8, 12, 16]
    assert by_length["problems"] == 128
    assert np.shape(by_length["coarse"]) == np.shape(by_length["fine"]) == (4, 8)
    assert np.shape(by_length["intervals"]) == (4, 8, 2)
    merit = trained.machines.merits
    assert merit[data["best"]] == merit.max(), "the seed that every command takes for the best"
    assert merit[data["worst"]] == merit.min()
    assert data["best"] != data["worst"], "also when all are as good"
    losses = {(row["epoch"], row["seed"]): row["loss"] for row in trained.folder.metrics() if "loss" in row}
    assert data["loss"]["epochs"] == [1, 2, 3, 4, 5, 6]
    np.testing.assert_allclose(data["loss"]["loss"][2], [losses[epoch, 2] for epoch in range(1, 7)], rtol=1e-4)
    assert [machine["name"] for machine in data["machines"]] == [
        f"seed {data['best']}, the best",
        f"seed {data['worst']}, the worst",
    ]
    for problem in data["machines"][1]["problems"]:
        assert problem["why"][0].endswith("right.") == ("wrong" not in problem["why"][0])
    settings = {name: (value, changed) for group in data["settings"] for name, value, changed in group["settings"]}
    assert "members" not in settings, "they are of packed sweeps"
    assert settings["cells"] == ("6", True)
    assert settings["geometry"] == ("translation", False)
    assert settings["lengths"] == ("2, 4", True)
    assert settings["initial slot"] == ("yes", False)
    assert settings["memory limit"] == ("none", False)


def test_it_opens(open_page: Callable[..., Opened], text: str) -> None:
    page = open_page(text)
    assert page.text("h1") == HOSTILE
    assert page.page.locator("img").count() == 0
    titles = page.page.locator("h2").all_inner_texts()
    assert titles[:4] == ["Scores", "Scores by length", "Learning", "The best and the worst machine, and why"]
    assert "of 4" in page.text(".tile strong")
    assert page.page.locator(".wide-table tr").count() == 3
    assert page.page.locator("svg.chart").count() == 5, "coarse, fine, loss, and the tests at 1x and 2x"
    assert page.page.locator("svg.chart").first.locator("path.line").count() == 4, "a curve per seed"
    assert page.page.locator("svg.chart").first.locator("path.band").count() == 2
    assert page.page.locator(".reason").count() == 2
    assert page.page.locator(".pane").count() == 2
    for canvas in ("canvas.keys", "canvas.heat", "canvas.lanes"):
        assert page.ink(canvas) > 200, canvas
    assert "forget bias" in page.text(".groups")


def test_a_curve_tells_its_numbers(open_page: Callable[..., Opened], text: str) -> None:
    page, data = open_page(text), page_data(text)
    chart = page.page.locator("svg.chart").first
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    page.page.mouse.move(box["x"] + box["width"] - 3, box["y"] + box["height"] / 2)
    told = page.text(".chart-legend")
    best = data["byLength"]["coarse"][data["best"]][-1]
    low, high = data["byLength"]["intervals"][data["best"]][-1]
    assert "length 16" in told
    assert "the other seeds" in told
    assert f"the best {best:.3g}% ({low:.0f} to {high:.0f})" in told
    page.page.mouse.move(2, 2)
    assert "length 16" not in page.text(".chart-legend")


def test_no_row_of_charts_is_half_empty(open_page: Callable[..., Opened], text: str) -> None:
    """In two columns, the first of three charts is as wide as both, and its letters are as large as the others'."""
    page = open_page(text, width=800)
    boxes = [card.bounding_box() for card in page.page.locator(".row-of-charts > *").all()]
    assert [round(box["y"]) for box in boxes[1:]] == [round(boxes[1]["y"])] * 2
    assert boxes[0]["width"] > 1.9 * boxes[1]["width"]
    scales = page.page.locator(".row-of-charts svg").evaluate_all(
        "charts => charts.map((chart) => chart.clientWidth / chart.viewBox.baseVal.width)"
    )
    assert max(scales) / min(scales) < 1.25


def test_four_charts_stand_two_by_two(open_page: Callable[..., Opened], text: str) -> None:
    """A fourth test would be alone in a row of three; in rows of two, letters keep their size."""
    data = page_data(text)
    tests = data["tests"]
    page = open_page(text.replace(json_in_html(tests), json_in_html([*tests, tests[0]])))
    cards = page.page.locator(".row-of-charts > *")
    boxes = [card.bounding_box() for card in cards.all()]
    assert [round(box["y"] - boxes[0]["y"]) > 10 for box in boxes] == [False, False, True, True]
    scales = page.page.locator(".row-of-charts svg").evaluate_all(
        "charts => charts.map((chart) => chart.clientWidth / chart.viewBox.baseVal.width)"
    )
    assert 0.85 < min(scales) <= max(scales) < 1.25


def test_the_help_stands_beside_the_legend_on_a_telephone(open_page: Callable[..., Opened], text: str) -> None:
    page = open_page(text, width=360)
    legend = page.page.locator(".bar > .legend").bounding_box()
    help = page.page.locator(".bar > button").bounding_box()
    assert help["y"] < legend["y"] + legend["height"]
    assert legend["x"] + legend["width"] <= help["x"]


def test_what_was_trained_on_is_written_above_the_chart(open_page: Callable[..., Opened], text: str) -> None:
    page = open_page(text, width=400)
    chart = page.page.locator("svg.chart").first
    label = chart.get_by_text("trained on").bounding_box()
    top = min(rule.bounding_box()["y"] for rule in chart.locator(".rule").all())
    assert label["y"] + label["height"] < top - 1


def test_charts_are_legible_on_a_telephone(open_page: Callable[..., Opened], text: str) -> None:
    page = open_page(text, width=360)
    scales = page.page.locator("svg.chart").evaluate_all(
        "charts => charts.map((chart) => chart.clientWidth / chart.viewBox.baseVal.width)"
    )
    assert min(scales) > 0.85, "letters of 11 pixels stay above 9"


@needs_node
def test_a_single_test_is_seen(open_page: Callable[..., Opened], text: str) -> None:
    """A run that was tested once has points where others have curves."""
    data = page_data(text)
    before = json_in_html(data)
    for test in data["tests"]:
        test["epochs"], test["coarse"] = test["epochs"][:1], [curve[:1] for curve in test["coarse"]]
    page = open_page(text.replace(before, json_in_html(data)))
    chart = page.page.locator("svg.chart").nth(3)
    assert chart.locator("circle.dot").count() == len(data["seeds"])
    assert chart.locator("circle.dot.best").is_visible()


def test_there_is_no_half_of_an_epoch() -> None:
    body = "return given.map(([low, high]) => ticks(low, high, { whole: true }));"
    assert in_node(body, [[2, 4], [0.9, 1.1], [1, 6]], ["charts.js"]) == [[2, 3, 4], [1], [1, 2, 3, 4, 5, 6]]


def test_the_words_follow_the_problem(open_page: Callable[..., Opened], text: str) -> None:
    page = open_page(text)
    page.page.locator("select.problem").first.select_option(label="length 4")
    page.page.locator(".reason h3", has_text="the best, length 4").wait_for()
    before = page.text("output")
    page.page.mouse.move(2, 2)
    page.page.evaluate("document.activeElement.blur()")
    page.press("Home")
    assert page.text("output") == before, "keys belong to the page that scrolls"
    page.page.locator(".tape").first.hover()
    page.press("Home")
    assert page.text("output").startswith("step 0 ")


def test_a_run_of_one_seed_that_is_not_complete(
    open_page: Callable[..., Opened], machines: Trained, tmp_path: pathlib.Path
) -> None:
    alone = machines.seed(2)
    folder = RunFolder.create(tmp_path / "run", alone.experiment, {})
    history = folder.history(alone.experiment)
    page = open_page(report_page(dataclasses.replace(alone, folder=folder, history=history, epoch=4)))
    assert page.text(".unfinished") == "Training is not complete: epoch 4 of 6."
    assert page.page.locator(".tile").count() == 0
    assert page.page.locator(".pane").count() == 1
    assert page.text(".reason h3").startswith("seed 2, length")


def test_lengths_keep_to_the_task() -> None:
    assert report_lengths(make_task("copy")) == [8, 16, 32, 48, 64, 96, 128, 192, 256]
    assert report_lengths(make_task("bigramFlip")) == [4, 8, 16, 24, 32, 48, 64, 96, 128]


def scores(length: int, coarse: float, first_error: float) -> Scores:
    return Scores(Lengths(length, length), np.array([coarse]), np.array([99.0]), np.array([first_error]), 100)


def test_scores_in_words() -> None:
    good, bad, none = scores(4, 100.0, np.nan), scores(8, 50.0, 0.625), scores(2, 99.0, 0.5)
    assert run_report._in_words(0, [none, good]) == "It solves every length that was tried, up to 4."
    said = run_report._in_words(0, [none, good, bad])
    assert said.startswith(
        "Of the lengths that were tried it solves (99% or more) 2 to 4. "
        "The shortest that it does not solve is 8: there it answers 50.0% of 100 problems without a mistake "
    )
    assert said.endswith(
        "(95% interval 40% to 60%); in a wrong answer the first mistake comes after 62% of the symbols (median)."
    )
    assert run_report._in_words(0, [bad]).startswith(
        "It solves (99% or more) no length that was tried. The shortest is 8: there it answers 50.0%"
    )


def test_a_length_between_solved_ones_is_not_said_to_be_solved() -> None:
    tested = [scores(2, 100.0, np.nan), scores(8, 99.0, 0.5), scores(12, 98.4, 0.5), scores(16, 99.2, 0.5)]
    said = run_report._in_words(0, tested)
    assert "it solves (99% or more) 2 to 8 and 16. The shortest that it does not solve is 12: there" in said
    assert "it answers 98.4% of" in said, "which is not rounded to what would be solved"


def test_the_best_seed_is_said_to_be_chosen_elsewhere(
    open_page: Callable[..., Opened], text: str, machines: Trained
) -> None:
    """Its scores may be below those of another seed, or below the median."""
    page, best = open_page(text), page_data(text)["best"]
    assert f"“The best” is seed {best} in all that follows: it did best in the tests during training" in page.text(
        ".chosen"
    )
    heads = page.page.locator(".wide-table th").all_inner_texts()
    assert [head for head in heads if "seed" in head] == [f"coarse, seed {best}", f"fine, seed {best}"]
    assert f"seed {best}: " in page.text(".tile")
    assert not [words for words in page.page.locator(".tile, th").all_inner_texts() if "best" in words]


def test_what_goes_wrong_is_a_warning(run: RunFolder, machines: Trained, monkeypatch: pytest.MonkeyPatch) -> None:
    warnings: list[str] = []
    for error in (OSError("the disk\nis full"), RuntimeError("RESOURCE_EXHAUSTED"), KeyboardInterrupt()):
        monkeypatch.setattr(run_report, "report_page", lambda *_, error=error: (_ for _ in ()).throw(error))
        assert try_report(machines, warnings.append) is None
    assert "the report was not written (the disk is full): lantm report '" in warnings[0]
    assert "(KeyboardInterrupt)" in warnings[2]
    assert not (run.path / "report.html").exists()


def test_it_is_written_into_the_folder(run: RunFolder, machines: Trained, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_report, "report_page", lambda *_: "a page")
    assert write_report(machines) == run.path / "report.html"
    assert (run.path / "report.html").read_text() == "a page"
    monkeypatch.setattr(run_report, "report_page", lambda *_: "café \udcff")
    write_report(machines)
    assert (run.path / "report.html").read_text(encoding="utf-8") == "café ?", "a name of a folder may be no UTF-8"
    (run.path / "report.html").unlink()
    with pytest.raises(LantmError, match="is a single machine: a report needs a run folder"):
        write_report(machines.best)


def test_a_summary_that_is_no_json(run: RunFolder, machines: Trained, tmp_path: pathlib.Path) -> None:
    folder = RunFolder.create(tmp_path / "run", machines.experiment, {})
    (folder.path / "summary.json").write_text("{")
    warnings: list[str] = []
    assert try_report(dataclasses.replace(machines, folder=folder), warnings.append) is None
    assert "cannot be read as JSON" in warnings[0]
    assert json.loads((run.path / "summary.json").read_text()) == run.summary()


def test_the_report_of_a_text(open_page: Callable[..., Opened], trained_text) -> None:
    """Perplexities in place of scores, and the words that the machines read and guessed."""
    folder = trained_text.folder
    folder.write_summary({"rows": score_rows(trained_text.experiment, trained_text.result.tests), "epoch": 3})
    try:
        written = report_page(trained_text.machines)
    finally:
        (folder.path / "summary.json").unlink()
    data = page_data(written)
    row = trained_text.result.tests["validation"].figures(data["best"])
    page = open_page(written)
    titles = page.page.locator("main h2").all_inner_texts()
    assert titles == ["Scores", "Learning", "The best and the worst machine, and why", "Settings"]
    assert page.page.locator(".tile strong").all_inner_texts()[0] == f"{row['perplexity']:.2f}"
    cells = page.page.locator(".wide-table tr").nth(1).locator("td").all_inner_texts()
    assert cells[:3] == ["validation", "105", f"{row['perplexity']:.2f}"]
    assert page.page.locator("svg.chart").count() == 2, "loss and perplexity"
    assert page.page.locator("svg.chart").nth(1).locator("path.line").count() == 2, "a curve per seed"
    assert "words are wrong" in page.text(".reason")
    assert page.text(".legend .of-read") == "● read", "there is no answer"
    scales = page.page.locator("svg.chart").evaluate_all(
        "charts => charts.map((chart) => chart.clientWidth / chart.viewBox.baseVal.width)"
    )
    assert 0.85 < min(scales) <= max(scales) < 1.25, "letters keep their size"
    machines, words = trained_text.machines, data["tasks"][0]["symbols"]
    problem = sampled_problems(machines.source, usual_lengths(machines.source))[data["first"]]
    made = record(machines.model(machines.seeds[data["best"]]), problem.batch)
    pane = page.page.locator(".pane").first
    assert pane.locator('[data-row="input"] .cell').all_inner_texts() == [words[word] for word in made.inputs]
    guessed = [words[word] for pair in zip(made.expected, made.predicted, strict=True) for word in pair]
    assert pane.locator('[data-row="answer"] .cell b').all_inner_texts() == guessed
    assert "It reads “" in page.text(".words")
    for canvas in ("canvas.keys", "canvas.heat", "canvas.lanes"):
        assert page.ink(canvas) > 200, canvas


@pytest.mark.parametrize("dark", [False, True])
def test_it_fits_every_screen_and_is_accessible(open_page: Callable[..., Opened], text: str, dark: bool) -> None:
    page = open_page(text, dark=dark)
    assert [fault for window in WINDOWS for fault in faults(page, *window)] == []
    assert accessibility_faults(page) == []
    page.page.emulate_media(media="print")
    page.page.set_viewport_size({"width": 718, "height": 1000})
    assert page.page.locator(".viewer").is_hidden()
    assert page.page.locator(".reason").first.is_visible()
    table = page.page.locator(".wide-table").first
    assert table.evaluate("one => one.scrollWidth - one.clientWidth") <= 1, "all columns are on paper"
    assert table.evaluate("one => getComputedStyle(one).maskImage") == "none"

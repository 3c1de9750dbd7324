"""The viewer in a real browser."""

import dataclasses
from collections.abc import Callable

import acting
import numpy as np
import pytest
from opened import Opened

from lantm.geometry import make_geometry
from lantm.report.pages.training import recorded_training
from lantm.report.pages.viewer import Machine, exhibit, sampled_problems, viewer_page

Open = Callable[..., Opened]


def page_of(*machines, chosen: tuple[int, ...] = (0,)) -> str:
    return viewer_page("a run", "a machine that copies", list(machines), list(chosen), 0)


def test_it_draws_everything(open_page: Open) -> None:
    page = open_page(page_of(acting.machine("seed 0", acting.scene(8))))
    assert page.text("h1") == "a run"
    assert "all right" in page.text(".verdict")
    assert page.page.locator('[data-row="input"] .cell').all_inner_texts() == ["<s>", *"!\"#$%&'("]
    assert page.page.locator('[data-row="answer"] .cell').count() == 9
    for canvas in ("canvas.keys", "canvas.heat", "canvas.lanes"):
        assert page.ink(canvas) > 500, canvas
    assert page.text("output").startswith("step 13 "), "it begins in the middle of the answer"
    assert page.page.locator("#epoch").is_hidden(), "no training was recorded"
    assert page.page.locator("#compare").is_hidden(), "there is nothing to compare with"


def test_time_is_scrubbed(open_page: Open) -> None:
    """By the slider, by keys, by clicks: the symbols, the words and the pictures follow."""
    page = open_page(page_of(acting.machine("seed 0", acting.scene(8))))
    before = page.picture("canvas.keys"), page.picture("canvas.heat"), page.picture("canvas.lanes")
    page.page.locator("#time").fill("11")
    page.settle()
    assert page.text("output").startswith("step 11 of 17 · answer 3/9")
    assert "Symbol 3 of the answer: “#”, right, from the reading of step 10: memory 3 “#” 100%" in page.text(".words")
    after = page.picture("canvas.keys"), page.picture("canvas.heat"), page.picture("canvas.lanes")
    assert all(one != other for one, other in zip(before, after, strict=True))
    page.press("ArrowRight", "ArrowRight")
    assert page.text("output").startswith("step 13 ")
    page.press("Home", "Shift+ArrowRight", "ArrowLeft")
    assert page.text("output").startswith("step 9 of 17 · answer 1/9")
    page.press("End")
    assert page.text("output").startswith("step 17 ")
    page.press("a")
    assert page.text("output").startswith("step 9 ")
    page.page.locator('.cell[data-step="4"]').click()
    page.settle()
    assert page.text("output").startswith("step 4 of 17 · input 4/8")
    box = page.page.locator("canvas.lanes").bounding_box()
    page.page.mouse.click(box["x"] + box["width"] - 2, box["y"] + 10)
    page.settle()
    assert page.text("output").startswith("step 17 ")


def test_it_plays(open_page: Open) -> None:
    page = open_page(page_of(acting.machine("seed 0", acting.scene(2))))
    page.press("Home", " ")
    page.page.locator(".play", has_text="❚❚").wait_for()
    page.page.locator("output", has_text="step 5 of 5").wait_for()
    page.page.locator(".play", has_text="▶").wait_for()


def test_pointing_at_a_symbol_shows_its_read_and_its_write(open_page: Open) -> None:
    page = open_page(page_of(acting.machine("seed 0", acting.scene(8))))
    page.press("Home")
    pictures = {page.picture("canvas.keys")}
    page.page.locator('.cell[data-step="12"]').hover()  # the fourth symbol of the answer
    page.settle()
    assert [page.glow(step) for step in range(9)] == ["", "", "", "", "100%", "", "", "", ""], "its read"
    assert "Symbol 4 of the answer" in page.text(".words")
    assert page.text("output").startswith("step 0 "), "the scrubber stays"
    pictures.add(page.picture("canvas.keys"))

    page.page.locator('.cell[data-step="6"]').hover()  # the sixth symbol of the input
    page.settle()
    assert "written as memory 6 with strength 1.00; read most for symbol 6 of the answer" in page.text(".words")
    assert page.glow(14) == "100%", "who read it"
    assert page.glow(13) == ""
    pictures.add(page.picture("canvas.keys"))

    page.page.mouse.move(2, 2)
    page.settle()
    assert page.glow(14) == ""
    assert "Step 0." in page.text(".words")
    pictures.add(page.picture("canvas.keys"))
    assert len(pictures) == 3, "the key space followed, and came back"


def test_the_numbers_of_memories_stand_beside_their_rows(open_page: Open) -> None:
    """The first beside the first row of the read weights, the last beside the last, and none between."""
    page = open_page(page_of(acting.machine("seed 0", acting.scene(8))))
    written = page.page.locator("canvas.heat").evaluate(
        """canvas => {
            const ratio = canvas.width / canvas.clientWidth;
            const beside = canvas.getContext("2d").getImageData(134 * ratio, 0, 13 * ratio, canvas.height);
            const rows = new Set();
            for (let at = 3; at < beside.data.length; at += 4) {
                if (beside.data[at]) rows.add(Math.floor((9 * Math.floor(at / 4 / beside.width)) / canvas.height));
            }
            return [...rows].sort();
        }"""
    )
    assert written == [0, 8]


def test_pointing_into_the_pictures(open_page: Open) -> None:
    page = open_page(page_of(acting.machine("seed 0", acting.scene(8))))
    heat = page.page.locator("canvas.heat").bounding_box()
    gutter = 148
    x = heat["x"] + gutter + (heat["width"] - gutter) * (12 + 0.5) / 18
    page.page.mouse.move(x, heat["y"] + heat["height"] * (5 + 0.5) / 9)
    page.settle()
    assert "Step 12." in page.text(".words")
    assert "The reading of this step takes 100% of memory 5" in page.text(".words")

    keys = page.page.locator("canvas.keys").first.bounding_box()
    found = set()
    for share in range(0, 101, 2):  # the memories lie on a level line through the middle
        page.page.mouse.move(keys["x"] + keys["width"] * share / 100, keys["y"] + keys["height"] / 2 + 6)
        page.settle()
        found.add(page.text(".words").partition(".")[0])
    assert {f"Step {step}" for step in range(1, 9)} <= found


def test_the_view_of_the_read_head_is_of_one_that_reads(open_page: Open) -> None:
    """The first of two heads is far away from every memory: the view is around the second."""
    recording = acting.copying(40)
    two = acting.with_idle_head(recording, at=500.0, weights=recording.heads.read_weights)
    page = open_page(page_of(acting.machine("seed 0", acting.pack(two, acting.COPY, acting.PLANE))))
    page.page.locator('[data-view="here"]').first.click()
    keys = page.page.locator("canvas.keys").first.bounding_box()
    found = set()
    for share in range(0, 101, 2):
        page.page.mouse.move(keys["x"] + keys["width"] * share / 100, keys["y"] + keys["height"] / 2 + 6)
        page.settle()
        found.add(page.text(".words").partition(".")[0])
    assert len(found) >= 5, "memories beside each other, each in a place of its own"


def test_the_legend_has_every_head_in_its_own_colour(open_page: Open) -> None:
    """Of the machines that are shown."""
    one = acting.copying(8)
    two = acting.settling(acting.with_idle_head(one, at=3.0, weights=0 * one.heads.read_weights))
    machines = [acting.machine("one", acting.scene(8))]
    machines.append(acting.machine("two", acting.pack(two, acting.COPY, acting.PLANE)))
    page = open_page(page_of(*machines, chosen=(0, 1)))
    marks = page.page.locator(".legend")
    marks.get_by_text("read by head 2").wait_for()
    for kind, marked in (("of-read", ["● read by head 1", "◎", "○"]), ("of-read-2", ["◆ read by head 2", "◎", "◇"])):
        assert marks.locator(f".{kind}").all_inner_texts() == marked
        probe = "one => { one.style.color = `var(--${one.className.slice(3)})`; return getComputedStyle(one).color }"
        shown = marks.locator(f".{kind}").first
        assert shown.evaluate("one => getComputedStyle(one).color") == shown.evaluate(probe)
    assert "settles there" in marks.inner_text()
    assert "the symbol came from" in marks.inner_text()
    page.press("c")  # the first alone, which has one head and does not settle
    assert marks.locator(".of-read").all_inner_texts() == ["● read for the answer"]
    assert marks.locator(".of-read-2").count() == 0
    assert "settles" not in marks.inner_text()


def test_a_reading_of_everything_draws_no_lines(open_page: Open) -> None:
    """An idle head reads a little of every memory: without lines to all of them, nothing hides what the other reads."""
    recording = acting.copying(40)
    even = np.full_like(recording.heads.read_weights, 1 / 41)
    pictures = []
    for weights in (even, 0 * even):
        two = acting.with_idle_head(recording, at=20.0, weights=weights)
        page = open_page(page_of(acting.machine("seed 0", acting.pack(two, acting.COPY, acting.PLANE))))
        page.press("a", "ArrowRight")
        pictures.append(page.picture("canvas.keys"))
    assert pictures[0] == pictures[1]


def test_the_key_space_is_zoomed_and_moved(open_page: Open) -> None:
    page = open_page(page_of(acting.machine("seed 0", acting.scene(40))))
    page.press("a", "Shift+ArrowRight", "Shift+ArrowRight")
    views = [page.picture("canvas.keys")]
    for view in ("start", "end", "here", "all"):
        page.page.locator(f'[data-view="{view}"]').first.click()
        page.page.mouse.move(2, 2)
        page.settle()
        views.append(page.picture("canvas.keys"))
    assert views[0] == views[-1]
    assert len(set(views)) == 4
    page.page.locator("canvas.keys").first.hover()
    page.page.mouse.wheel(0, -300)
    page.page.mouse.down()
    page.page.mouse.move(300, 400)
    page.page.mouse.up()
    page.page.mouse.move(2, 2)
    page.settle()
    assert page.picture("canvas.keys") not in views
    assert page.page.locator('.views [aria-pressed="true"]').count() == 1, "only the lens still has a view"
    page.page.locator("canvas.keys").first.dblclick()
    page.page.mouse.move(2, 2)
    page.press("a", "Shift+ArrowRight", "Shift+ArrowRight")
    assert page.picture("canvas.keys") == views[0]


def test_mistakes_are_marked(open_page: Open) -> None:
    page = open_page(page_of(acting.machine("seed 0", acting.scene(8, wrong=(3, 6)))))
    assert page.text(".verdict") == "✕ 2 of 9 wrong, the first is symbol 4"
    assert [cell.get_attribute("data-step") for cell in page.page.locator(".cell.wrong").all()] == ["12", "15"]
    page.press("m")
    assert page.text("output").startswith("step 12 ")
    assert "“~”, wrong, “$” was expected" in page.text(".words")


def test_the_first_mistake_is_marked_in_the_pictures(open_page: Open) -> None:
    marked, unmarked = acting.scene(8, wrong=(3,)), acting.scene(8, wrong=(3,), firstMistake=None)
    page = open_page(page_of(acting.machine("seed 0", marked, unmarked)))
    page.press("Home")
    canvases = ("canvas.keys", "canvas.heat", "canvas.lanes")
    before = [page.picture(canvas) for canvas in canvases]
    page.page.locator("select.problem").select_option(label="problem 1")
    page.page.locator(".verdict.right").wait_for()
    page.press("Home")
    for canvas, picture in zip(canvases, before, strict=True):
        assert page.picture(canvas) != picture, canvas


def test_two_machines_side_by_side(open_page: Open) -> None:
    machines = [acting.machine(f"seed {seed}", acting.scene(4), acting.scene(8, wrong=(seed,))) for seed in range(3)]
    page = open_page(page_of(*machines, chosen=(0, 2)))
    assert page.page.locator(".pane").count() == 2
    assert page.page.locator("select.machine").nth(1).evaluate("one => one.selectedOptions[0].text") == "seed 2"
    for pane in range(2):
        page.page.locator("select.problem").nth(pane).select_option(label="problem 1")
    page.page.locator(".verdict.wrong").nth(1).wait_for()
    page.press("a", "ArrowRight")
    assert all("Step 10." in words for words in page.page.locator(".words").all_inner_texts()), "one scrubber for both"
    page.page.locator("select.machine").nth(0).select_option(label="seed 1")
    page.page.locator(".verdict", has_text="symbol 2").wait_for()
    assert page.page.locator("select.problem").first.evaluate("one => one.value") == "1", "the problem stays"
    page.press("c")
    assert page.page.locator(".pane").count() == 1
    page.page.locator("#compare").click()
    assert page.page.locator(".pane").count() == 2


def test_symbols_come_into_view(open_page: Open) -> None:
    """The shown symbol of the answer and the one it was read from, in both panes."""
    machines = [acting.machine(f"seed {seed}", acting.scene(200)) for seed in range(2)]
    page = open_page(page_of(*machines, chosen=(0, 1)))
    page.page.locator(".pane").nth(1).locator(".cell.current").wait_for()
    for keys in (["a"], ["Shift+ArrowRight"] * 8, ["End"], ["Home"]):
        page.press(*keys)
        for pane in page.page.locator(".pane").all():
            for cell in pane.locator(".cell.current, .cell[style*=glow]").all():
                box, row = cell.bounding_box(), cell.locator("..").bounding_box()
                assert row["x"] - 1 <= box["x"] <= row["x"] + row["width"] - box["width"] + 1


def test_training_is_scrubbed(open_page: Open) -> None:
    epochs = [{"epoch": epoch, "loss": 1 / epoch, "scene": acting.scene(4, wrong=(epoch % 4,))} for epoch in (1, 2, 3)]
    subject = acting.machine("seed 0", acting.scene(8))
    subject["problems"].append({"name": "while training", "training": epochs})
    page = open_page(page_of(subject))
    assert page.page.locator("#epoch").is_visible()
    page.press("ArrowDown")
    page.page.locator(".verdict", has_text="symbol 3").wait_for()
    assert page.page.locator("select.problem").evaluate("one => one.value") == "1"
    page.page.locator("#epoch").fill("0")
    page.page.locator(".verdict", has_text="symbol 2").wait_for()
    page.settle()
    assert page.text('output[for="epoch"]') == "epoch 1 · loss 1.000"


def test_other_key_spaces(open_page: Open) -> None:
    """A circle with its fixed point, and keys of one number over time."""
    recording = acting.copying(12)
    circle = acting.pack(recording, acting.COPY, make_geometry("rotation"))
    line = acting.pack(acting.elsewhere(recording, 1), acting.COPY, make_geometry("translation-1"))
    page = open_page(page_of(acting.machine("circle", circle), acting.machine("line", line), chosen=(0, 1)))
    page.page.locator(".pane").nth(1).locator(".cell").first.wait_for()
    page.settle()
    assert "fixed point" in page.text(".keyspace .note")
    first, second = (page.page.locator(".pane").nth(pane).locator("canvas.keys").first for pane in (0, 1))
    assert first.evaluate("one => one.toDataURL()") != second.evaluate("one => one.toDataURL()")


def test_a_machine_that_diverged(open_page: Open) -> None:
    recording = acting.copying(5, wrong=(2,))
    heads = dataclasses.replace(recording.heads, keys=np.full_like(recording.heads.keys, np.nan))
    scene = acting.pack(dataclasses.replace(recording, heads=heads), acting.COPY, acting.PLANE)
    page = open_page(page_of(acting.machine("seed 0", scene)))
    page.press("Home", "End", "m")
    assert page.text("output").startswith("step 8 ")


def test_a_machine_without_a_memory(open_page: Open) -> None:
    recording = acting.copying(5, wrong=(2,))
    scene = acting.pack(dataclasses.replace(recording, heads=None), acting.COPY, None)
    page = open_page(page_of(acting.machine("lstm", scene)))
    assert "This model has no memory" in page.text(".no-memory")
    assert page.page.locator("canvas.keys").first.is_hidden()
    page.press("m")
    assert "Symbol 3 of the answer: “~”, wrong, “#” was expected." in page.text(".words")


def test_a_text(open_page: Open) -> None:
    """Every step reads a word, in the row of the input, and guesses the next one, in that of the answer."""
    words = "the head reads its key <eos> the head"
    scene = acting.pack(acting.reading(words, wrong=(3,)), acting.TEXT, acting.PLANE)
    page = open_page(page_of(acting.machine("seed 0", scene)))
    rows = {row: page.page.locator(f'[data-row="{row}"] .cell') for row in ("input", "answer")}
    assert rows["input"].all_inner_texts() == words.split()[:-1]
    expected = [words.split()[1:], [*words.split()[1:4], "<unk>", *words.split()[5:]]]
    assert rows["answer"].locator("b").all_inner_texts() == [
        one for pair in zip(*expected, strict=True) for one in pair
    ]
    assert page.text(".verdict") == "✕ 1 of 7 wrong, the first is word 4"
    assert page.text("output").startswith("step 3 of 6 · word 4/7"), "it begins with the first mistake"
    assert [cell.get_attribute("data-step") for cell in page.page.locator(".cell.current").all()] == ["3", "3"]
    said = page.text(".words")
    assert "It reads “its”, written as memory 3 with strength 1.00; read most for the guess of step 5, “the”" in said
    assert "It guesses “<unk>”, wrong, “key” comes next, from the reading of step 2: memory 1 “head” 100%" in said
    for canvas in ("canvas.keys", "canvas.heat", "canvas.lanes"):
        assert page.ink(canvas) > 500, canvas

    def glowing(row: str) -> list[str | None]:
        shown = rows[row].locator("xpath=self::*[contains(@style, 'glow')]").all()
        return [cell.get_attribute("data-step") for cell in shown]

    assert (glowing("input"), glowing("answer")) == (["1"], []), "the word that was read for it"
    rows["input"].nth(2).hover()
    page.settle()
    assert (glowing("input"), glowing("answer")) == (["0"], ["4"]), "and the guess that it is read for"
    page.page.mouse.move(2, 2)
    page.press("Home")
    assert page.text(".words").startswith("Step 0. It reads “the”, written as memory 0")
    assert page.text(".words").endswith("It guesses “head”, right.")
    page.press("End")
    assert page.text("output").startswith("step 6 of 6 · word 7/7")
    right = acting.pack(acting.reading(words), acting.TEXT, acting.PLANE)
    assert open_page(page_of(acting.machine("seed 0", right))).text(".verdict") == "✓ all right 7 words guessed"


def test_a_machine_trained_on_a_text(open_page: Open, trained_text) -> None:
    """With a memory that forgets: what its steps read, and its training, epoch by epoch."""
    trained = trained_text.machines
    problems = sampled_problems(trained.source, [12])
    machine = Machine("seed 3", trained.source, trained.model(3), problems, recorded_training(trained, 3, 3))
    page = open_page(page_of(exhibit(machine)))
    assert page.page.locator('[data-row="input"] .cell').count() == 12
    for step in range(12):
        page.press("Home", *["ArrowRight"] * step)
        assert page.text(".words").startswith(f"Step {step}. It reads “")
    page.press("ArrowDown")
    page.page.locator("output", has_text="epoch 2").wait_for()
    assert page.page.locator('[data-row="input"] .cell').count() == 4


HOSTILE = "</script x></script><!--<img src=x onerror=\"alert(1)\"><b onmouseover='alert(2)'>&lt;"


def test_markup_is_shown_as_text(open_page: Open) -> None:
    """In the name of a run, of a seed, of a problem, and in every symbol."""
    symbols = acting.scene(3, wrong=(1,), inputs=[HOSTILE] * 8, expected=[HOSTILE] * 4, predicted=[HOSTILE] * 4)
    subject = {"name": HOSTILE, "problems": [{"name": HOSTILE, "scene": symbols}]}
    page = open_page(viewer_page(HOSTILE, HOSTILE, [subject, subject], [0, 1], 0))
    page.press("m")
    page.page.locator(".cell").first.hover()
    page.settle()
    assert page.page.locator("img, b[onmouseover]").count() == 0
    assert page.text("h1") == page.text(".about") == HOSTILE
    assert page.page.title().startswith(HOSTILE)
    assert page.page.locator(".cell").first.inner_text() == HOSTILE.replace(" ", "␣")
    assert page.page.locator("select.machine option").first.text_content() == HOSTILE


def test_no_other_script_can_run(open_page: Open) -> None:
    """The page's own policy forbids scripts and fetching, should anything ever slip in."""
    page = open_page(page_of(acting.machine("seed 0", acting.scene(3))))
    ran = page.page.evaluate(
        """async () => {
            const script = document.createElement("script");
            script.textContent = "window.ran = true";
            document.body.append(script);
            const button = document.createElement("b");
            button.setAttribute("onclick", "window.ran = true");
            document.body.append(button);
            button.click();
            const fetched = await fetch("https://example.org").then(() => true, () => false);
            return [window.ran === undefined, fetched];
        }"""
    )
    assert ran == [True, False]
    refused = [complaint for complaint in page.complaints if "Content Security Policy" in complaint]
    assert len(refused) >= 3
    page.complaints.clear()


@pytest.mark.parametrize("dark", [False, True])
def test_light_and_dark(open_page: Open, dark: bool) -> None:
    """As the system says, and the other way round by the button."""
    page = open_page(page_of(acting.machine("seed 0", acting.scene(8))), dark=dark)

    def brightness() -> float:
        colour = page.page.evaluate("getComputedStyle(document.body).backgroundColor")
        return sum(map(int, colour.removeprefix("rgb(").removesuffix(")").split(",")))

    before, picture = brightness(), page.picture("canvas.heat")
    assert (before < 200) is dark
    page.page.locator("#theme").click()
    page.page.mouse.move(2, 2)
    page.settle()
    assert (brightness() < 200) is not dark
    assert page.picture("canvas.heat") != picture


def test_a_long_problem(open_page: Open) -> None:
    """320 symbols: small, and all of it there."""
    text = page_of(acting.machine("seed 0", acting.scene(320)))
    assert len(text) < 1_000_000
    page = open_page(text)
    page.press("End")
    assert page.text("output").startswith("step 641 of 641")
    assert page.page.locator(".cell.current").last.is_visible()


def test_help(open_page: Open) -> None:
    page = open_page(page_of(acting.machine("seed 0", acting.scene(3))))
    page.page.locator("#keys").click()
    assert "to the first mistake" in page.text("#help")
    page.page.locator("#help button").click()
    assert page.page.locator("#help").is_hidden()

"""Machines that run in the page, in a real browser."""

from collections.abc import Callable
from typing import Any

import acting
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from engine import LOGITS
from opened import Opened

import lantm
from lantm.report.pages.document import joined
from lantm.report.pages.viewer import Machine, exhibit, sampled_problems, viewer_page, written_problem
from lantm.report.pages.weights import ENGINE, pack_machine, pack_problem
from lantm.trained import Trained

Open = Callable[..., Opened]


@pytest.fixture(scope="module")
def copy() -> Trained:
    return lantm.load("copy")


def view(*names: str, text: str = "hello", chosen: tuple[int, ...] = (0,)) -> str:
    """A page of machines of the zoo, each on a problem."""
    machines = []
    for name in names:
        trained = lantm.load(name)
        problems = [written_problem(trained.source, "12 + 7" if trained.source.name == "addition" else text)]
        machines.append(exhibit(Machine(name, trained.source, trained.model(), problems)))
    return viewer_page("the zoo", "machines", machines, list(chosen), 0)


def finished(page: Opened) -> None:
    """Waits until the machine is done, which may take it several frames."""
    page.settle()
    page.page.locator(".verdict.right, .verdict.wrong").first.wait_for()
    page.settle()


def answered(page: Opened) -> str:
    finished(page)
    return "".join(page.page.locator('.pane:first-child [data-row="answer"] .cell b + b').all_inner_texts())


def ask(page: Opened, text: str) -> None:
    page.page.locator(".problem-text").first.fill(text)
    page.page.locator(".problem-text").first.press("Enter")
    page.settle()


def verdict(page: Opened) -> str:
    finished(page)
    return page.text(".verdict")


def test_the_logits_in_a_browser_are_those_of_python(browser: Any, copy: Trained) -> None:
    model, batch = copy.model(), copy.source.encode("The quick brown fox; $ and αΩ.")
    logits = np.asarray(jax.jit(lambda model: model(batch).logits)(jax.tree.map(jnp.asarray, model)))[:, 0]
    page = browser.new_page()
    given = [{"machine": pack_machine(model), "problems": [pack_problem(batch)], "double": False}]
    [found] = page.evaluate(f"async (given) => {{ {joined(ENGINE)} {LOGITS} }}", given)
    page.close()
    np.testing.assert_allclose(found, logits, rtol=0, atol=1e-4)


def test_a_problem_is_typed_and_answered(open_page: Open, copy: Trained) -> None:
    page = open_page(view("copy"))
    assert answered(page) == "hello∎"
    assert page.page.locator(".problem-text").input_value() == "hello"
    ask(page, "a $ is no end")
    page.page.locator(".play", has_text="❚❚").wait_for()
    assert page.page.locator(".cell.to-come").count() > 5, "what is not answered yet is not shown"
    page.page.locator(".play").click()
    page.settle()
    assert page.page.locator(".cell.to-come").count() == 0
    assert answered(page) == copy.solve("a $ is no end").answer.replace(" ", "␣") + "∎"
    assert page.page.locator("select.problem").evaluate("one => one.selectedOptions[0].text") == "“a $ is no end”"
    ask(page, "é")
    assert page.text(".refusal") == "copy has no symbol for “é”."
    assert answered(page).startswith("a"), "the problem before stays"
    page.page.locator(".problem-length").fill("30")
    page.page.locator(".random").click()
    page.settle()
    assert page.page.locator('[data-row="answer"] .cell').count() == 31
    assert page.page.locator(".refusal").is_hidden()
    for canvas in ("canvas.keys", "canvas.heat", "canvas.lanes"):
        assert page.ink(canvas) > 500, canvas


def test_why_no_problem_can_be_typed(open_page: Open, copy: Trained) -> None:
    """Of a task of one's own, and of a machine that the page cannot run."""
    own, recorded = (
        exhibit(Machine("copy", copy.source, copy.model(), sampled_problems(copy.source, [4]))) for _ in "12"
    )
    own["task"] |= {"name": "mine:Own", "typed": False}
    recorded |= {"machine": None, "problems": [{"name": "recorded", "scene": acting.scene(4)}]}
    page = open_page(viewer_page("a run", "", [own, recorded], [0], 0))
    assert page.page.locator(".ask").is_hidden()
    assert page.text(".none-typed").startswith("Problems of mine:Own cannot be typed here: ")
    page.page.locator("select.machine").select_option(index=1)
    page.page.locator(".none-typed", has_text="this machine was recorded").wait_for()
    page = open_page(view("copy"))
    assert page.page.locator(".none-typed").is_hidden()


def test_another_machine_takes_the_same_problem(open_page: Open) -> None:
    page = open_page(view("copy", "copy-lantm-invnorm-robust", "addition"))
    ask(page, "abc")
    page.page.locator(".play").click()
    page.page.locator("select.machine").select_option(index=1)
    page.page.locator("select.problem option", has_text="abc").wait_for(state="attached")
    page.settle()
    assert answered(page) == "abc∎"
    page.page.locator("select.machine").select_option(index=2)
    page.page.locator(".order:visible").wait_for()
    page.settle()
    assert answered(page) == "910∎", "12 + 7, the last digit first"
    assert page.page.locator('[data-row="input"] .cell').all_inner_texts() == ["<s>", *"7201"]
    assert page.page.locator(".cell.underlined").all_inner_texts() == ["2", "1"]
    assert "the last digits first" in page.text(".order")


def test_a_head_is_dragged_off_its_way(open_page: Open) -> None:
    page = open_page(view("copy", text="hello, world"))
    page.press("a", "ArrowRight", "ArrowRight", "ArrowRight")
    assert "✓ all right" in verdict(page)
    page.page.locator('.keyspace + .keyspace [data-view="here"]').click()
    box = page.page.locator("canvas.keys").nth(1).bounding_box()
    canvas = page.page.locator("canvas.keys").nth(1)
    middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    around = [(20 * x, 20 * y) for x in range(-6, 7) for y in range(-6, 7)]
    for x, y in sorted(around, key=lambda place: place[0] ** 2 + place[1] ** 2):
        grabbed = middle[0] + x, middle[1] + y
        page.page.mouse.move(*grabbed)
        if canvas.evaluate("one => one.classList.contains('grabs')"):
            break
    else:
        raise AssertionError("no head is to be dragged")
    page.page.mouse.move(*grabbed)
    page.page.mouse.down()
    page.page.mouse.move(box["x"] + box["width"] - 30, box["y"] + box["height"] - 30, steps=3)
    page.page.mouse.up()
    page.page.mouse.move(2, 2)
    assert "✕" in verdict(page)
    assert "pushed in step 16" in page.page.locator(".pushes").text_content()
    assert page.text(".what-if .count").strip() == "1 change"
    page.page.locator(".what-if summary").click()
    page.page.locator(".undo").click()
    assert "✓ all right" in verdict(page)


def test_what_if(open_page: Open) -> None:
    """A head that is pushed, or whose gates are held, goes astray; all of it can be undone."""
    page = open_page(view("copy", text="the quick brown fox jumps over the lazy dog"))
    page.page.locator(".what-if summary").click()
    page.press("a", "ArrowRight", "ArrowRight", "ArrowRight")
    page.page.locator(".settle").uncheck()
    assert page.page.locator(".settled").is_hidden()
    assert "1 change" in page.text(".what-if summary")
    page.page.locator(".settle").check()
    assert page.page.locator(".settled").is_visible()
    assert "change" not in page.text(".what-if summary")
    page.page.get_by_label("read head 2: action gate").select_option("held at 1")
    page.page.get_by_label("read head 2: key gate").select_option("held at 1")
    assert "✕" in verdict(page)
    page.page.locator(".undo").click()
    assert "✓ all right" in verdict(page)
    shown = page.picture("canvas.keys")
    page.page.locator(".which").select_option("read head 2")
    for _ in range(8):  # two memories aside
        page.page.get_by_label("Push it right").click()
    assert "✕" in verdict(page)
    assert page.text(".pushes") == "read head 2 pushed in step 47", "pushes in one step are one"
    assert page.picture("canvas.keys") != shown
    page.page.locator(".undo").click()
    assert "✓ all right" in verdict(page)
    assert page.picture("canvas.keys") == shown


def test_a_long_problem_is_worked_on_between_frames(open_page: Open) -> None:
    page = open_page(view("addition"))
    page.page.locator(".problem-length").fill("300")
    page.page.locator(".random").click()
    page.page.locator(".verdict", has_text="302 symbols answered").wait_for()
    page.page.locator(".play").click()
    page.press("End")
    assert page.text("output").startswith("step 902 of 902 · answer 302/302")
    shown = page.page.locator(".problem-text").input_value()
    left, right = (int(number) for number in shown.split("+"))
    assert answered(page)[:-1][::-1].lstrip("0") == str(left + right)


def test_what_is_shown_first_does_not_depend_on_how_fast_it_is_known(open_page: Open) -> None:
    """A long sum is not known at once: when it is, the page shows the middle of the answer, as of a short one."""
    left = "123456789" * 60
    task = lantm.load("addition")
    problem = written_problem(task.source, f"{left} + {left}")
    page = open_page(viewer_page("sums", "", [exhibit(Machine("sums", task.source, task.model(), [problem]))], [0], 0))
    assert page.text("output") == "step 0 of 1622 · input 0/1080", "it is seen at work"
    finished(page)
    assert page.text("output") == "step 1352 of 1622 · answer 272/542"
    page.page.locator("select.problem").select_option(index=0)
    page.press("ArrowRight")
    finished(page)
    assert page.text("output") == "step 1 of 1622 · input 1/1080", "somebody had chosen a step"


def test_another_task_begins_at_its_answer(open_page: Open) -> None:
    page = open_page(view("copy", "reverse", "addition"))
    page.press("ArrowRight")
    assert page.text("output") == "step 10 of 11 · answer 5/6"
    page.page.locator("select.machine").select_option(index=1)
    page.page.locator(".words", has_text="“h”, right").wait_for()
    assert page.text("output") == "step 10 of 11 · answer 5/6", "the same problem, the same step"
    page.page.locator("select.machine").select_option(index=2)
    page.page.locator(".order:visible").wait_for()
    page.settle()
    assert page.text("output") == "step 7 of 8 · answer 3/4"


def test_somebody_who_watches_can_step(open_page: Open) -> None:
    """Keys and the scrubber move what plays: it goes on from there, and the end is the end."""
    page = open_page(view("addition"))
    problem = f"{'12345' * 40} + {'67890' * 40}"
    ask(page, problem)
    assert page.page.evaluate("document.activeElement.className") == "play", "keys are the player's"
    finished(page)
    page.press("a")
    page.settle()  # the frames in which what plays would be back where it was
    assert "answer" in page.text("output")
    assert page.text(".play") == "❚❚"
    page.press("End")
    page.settle()
    assert (page.text("output"), page.text(".play")) == ("step 602 of 602 · answer 202/202", "▶")
    page.press(" ", "ArrowRight")
    page.page.locator("#time").fill("602")
    page.settle()
    page.settle()
    assert (page.text("output"), page.text(".play")) == ("step 602 of 602 · answer 202/202", "▶")
    ask(page, "12 + é")
    assert page.page.evaluate("document.activeElement.className") == "problem-text", "it is to be mended"


def test_curves_grow_while_the_machine_works(open_page: Open) -> None:
    """Every frame draws the steps since the last one: all anew, a thousand digits would come to a standstill."""
    page = open_page(view("addition"))
    page.page.evaluate(
        """() => {
            const lanes = document.querySelector("canvas.lanes");
            const { prototype } = CanvasRenderingContext2D;
            const { lineTo, stroke } = prototype;
            const behind = ({ canvas }) =>
                canvas.width === lanes.width && canvas.height === lanes.height && !canvas.isConnected;
            window.corners = window.pieces = 0;
            prototype.lineTo = function (...place) {
                window.corners += behind(this);
                lineTo.apply(this, place);
            };
            prototype.stroke = function (...path) {
                window.pieces += behind(this);
                stroke.apply(this, path);
            };
        }"""
    )
    page.page.locator(".problem-length").fill("600")
    page.page.locator(".random").click()
    page.page.locator(".verdict", has_text="602 symbols answered").wait_for(timeout=120_000)
    page.settle()
    steps, rows = 1802, 7
    corners, pieces = page.page.evaluate("[corners, pieces]")
    assert 0.8 * rows * steps < corners < 1.5 * rows * steps
    page.press("End")
    grown = page.ink("canvas.lanes")
    page.press("t", "t")  # light and back: drawn at once
    at_once = page.ink("canvas.lanes")
    assert 0.99 * at_once < grown < 1.01 * at_once + 5 * pieces  # pieces overlap by a few pixels


def test_other_models_and_key_spaces(open_page: Open, tiny: Any) -> None:
    """A machine without a memory, and spaces of one, three and more dimensions, round and flat."""
    machines = []
    for geometry in ("translation-1", "translation-3", "rotation", "sphere", "disk", "hyperbolic-3"):
        config = tiny.machine.__class__(geometry=geometry, cells=4, embedding=2, memory_width=2)
        task = lantm.make_task("copy")
        model = config.build(task.vocabulary, jax.random.key(0))
        machines.append(exhibit(Machine(geometry, task, model, sampled_problems(task, [6]))))
    programs = lantm.load("programs-lstm")
    machines.append(
        exhibit(
            Machine("lstm", programs.source, programs.model(), [written_problem(programs.source, "print((12+30))")])
        )
    )
    page = open_page(viewer_page("spaces", "", machines, [0], 0))
    pictures = set()
    for index in range(6):
        page.page.locator("select.machine").select_option(index=index)
        page.settle()
        page.settle()
        page.page.locator("select.problem").select_option(index=0)
        page.settle()
        page.press("End")
        pictures.add(page.picture("canvas.keys"))
        if index == 0:
            page.page.locator(".what-if summary").click()
        page.page.get_by_label("Push it up").click()
        page.settle()
        assert "pushed in step 13" in page.text(".pushes")
    assert len(pictures) == 6
    page.page.locator("select.machine").select_option(index=6)
    page.page.locator(".no-memory:visible").wait_for()
    assert answered(page) == "24∎"
    assert page.page.locator(".what-if").is_hidden()

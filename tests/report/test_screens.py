"""Pages on every screen: from a telephone's to a large one, by mouse, touch and keyboard, light and dark, on paper."""

import pathlib
from collections.abc import Callable
from typing import Any

import acting
import pytest
from opened import Opened
from screens import WINDOWS, accessibility_faults, faults

import lantm
from lantm.report.pages.viewer import Machine, exhibit, viewer_page, written_problem

Open = Callable[..., Opened]
SITE_STYLE = pathlib.Path(__file__).parents[2] / "tools" / "site.css"


@pytest.fixture(scope="module")
def view() -> str:
    """Two machines that run, the first beside the second, and one that was recorded."""
    machines = []
    for name, problem in (("addition", "423 + 94"), ("copy", "hello")):
        trained = lantm.load(name)
        problems = [written_problem(trained.source, problem)]
        machines.append(exhibit(Machine(name, trained.source, trained.model(), problems)))
    machines.append(acting.machine("recorded", acting.scene(40, wrong=(3,))))
    return viewer_page("a run", "machines that add and copy", machines, [0, 1], 0)


def test_a_view_fits_every_screen(open_page: Open, view: str) -> None:
    page = open_page(view)
    for details in page.page.locator(".what-if summary").all():
        details.click()
    found = [fault for window in WINDOWS for fault in faults(page, *window)]
    page.press("c")  # one machine
    found += [fault for window in WINDOWS for fault in faults(page, *window)]
    assert found == []


def tops(page: Opened, part: str) -> list[float]:
    return [one.bounding_box()["y"] for one in page.page.locator(part).all()]


def test_what_is_done_to_one_machine_moves_both(open_page: Open, view: str) -> None:
    """Side by side, their symbols and pictures stay level."""
    page = open_page(view, width=1400)
    before = tops(page, ".tape")
    page.page.locator(".what-if summary").first.click()
    page.settle()
    for part in (".tape", ".said", ".charts"):
        left, right = tops(page, part)
        assert left == right, part
    assert tops(page, ".tape")[0] > before[0] + 50


def test_two_machines_on_a_telephone(open_page: Open, view: str) -> None:
    """Their key spaces are below each other, with their names, and the whole page is not endless."""
    page = open_page(view, width=400)
    spaces = page.page.locator("canvas.keys:visible")
    assert spaces.count() == 2, "one of each"
    first, second = (one.bounding_box() for one in spaces.all())
    assert 0 < second["y"] - first["y"] - first["height"] < 100
    name = "one => getComputedStyle(one, '::before').content"
    assert page.page.locator(".maps").evaluate_all(f"all => all.map({name})") == ['"addition"', '"copy"']
    assert page.page.evaluate("document.documentElement.scrollHeight") < 2600
    page.page.locator("select.machine").first.select_option(label="copy")
    page.settle()
    assert page.page.locator(".maps").first.evaluate(name) == '"copy"'


def test_the_verdict_is_in_one_line(open_page: Open) -> None:
    """Of a problem with a long name too: below the choices rather than in two lines beside them."""
    trained = lantm.load("copy")
    problem = written_problem(trained.source, "The quick brown fox jumps over the lazy dog")
    machine = exhibit(Machine("copy-lantm-invnorm-of-somebody", trained.source, trained.model(), [problem]))
    page = open_page(viewer_page("a run", "", [machine], [0], 0), width=800)
    page.page.locator(".verdict.right").wait_for()
    assert page.text(".verdict") == "✓ all right 44 symbols answered"
    assert page.page.locator(".verdict").bounding_box()["height"] < 30


def test_the_buttons_stand_beside_the_title(open_page: Open, view: str) -> None:
    """What the page shows goes below it where there is no room."""
    page = open_page(view, width=800)
    page.page.locator("h1").evaluate("one => { one.textContent = 'copy-lantm-invnorm and reverse-lantm-invnorm' }")
    title, buttons = (page.page.locator(part).bounding_box() for part in (".masthead h1", ".masthead .buttons"))
    assert buttons["y"] < title["y"] + title["height"]
    assert buttons["x"] > 400


def test_the_help_opens_at_its_beginning(open_page: Open, view: str) -> None:
    """By a key too; on a telephone it scrolls, by keys that move nothing else, and closes as all dialogs do."""
    page = open_page(view, width=360)
    shown = page.text("output")
    page.press("?")
    dialog = page.page.locator("dialog[open]")
    dialog.wait_for()
    assert dialog.evaluate("one => [one.scrollTop, one.scrollHeight > one.clientHeight]") == [0, True]
    page.press("ArrowRight", "End", "a")
    assert page.text("output") == shown
    page.press("Escape")
    dialog.wait_for(state="detached")
    page.press("ArrowRight")
    assert page.text("output") != shown


def test_key_spaces_side_by_side_are_level(open_page: Open) -> None:
    """Of a sphere too, whose map is explained above the first."""
    note = "a map of the whole sphere: its rim is one point, opposite the middle"
    one = acting.scene(8)
    one["space"] = one["space"] | {"note": note}
    page = open_page(viewer_page("a run", "", [acting.machine("one", one)], [0], 0), width=1400)
    page.page.get_by_text(note).first.wait_for()
    left, right = tops(page, "canvas.keys")
    assert left == right


SIGNS = """one => ["--more-left", "--more-right"].map((side) => getComputedStyle(one).getPropertyValue(side))"""


def test_what_scrolls_fades_where_there_is_more(open_page: Open, view: str) -> None:
    page = open_page(view, width=360)
    page.press("End")
    row = page.page.locator('[data-row="input"]').first
    row.evaluate("one => one.style.width = '60px'")
    found = []
    for at in ("0", "one.scrollWidth / 3", "one.scrollWidth"):
        row.evaluate(f"one => {{ one.scrollLeft = {at} }}")
        page.settle()
        found.append(row.evaluate(SIGNS))
    assert found == [["0px", "44px"], ["44px", "44px"], ["44px", "0px"]]
    row.evaluate("one => one.style.width = 'auto'")
    page.settle()
    assert row.evaluate("one => [one.scrollWidth - one.clientWidth, one.scrollLeft]") == [0, 0]
    assert row.evaluate(SIGNS) == ["0px", "0px"], "nothing scrolls"


def test_what_scrolls_on_the_site_fades_too(browser: Any) -> None:
    """Code, tables and figures."""
    parts = {
        "pre > code": f"<pre><code style='overflow: auto; display: block'>{'x' * 400}</code></pre>",
        ".md-typeset__scrollwrap": f"<div class='md-typeset__scrollwrap' style='overflow: auto'>{'x' * 400}</div>",
        "p": "<p><img alt='' src='data:image/gif;base64,R0lGODlhAQABAAAAACw='></p>",
    }
    page = browser.new_page(viewport={"width": 400, "height": 700})
    page.set_content(f"<style>{SITE_STYLE.read_text()}</style><article class='md-typeset'>{''.join(parts.values())}")
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    signs = {part: page.locator(part).first.evaluate(SIGNS) for part in parts}
    page.emulate_media(media="print")
    masks = {part: page.locator(part).first.evaluate("one => getComputedStyle(one).maskImage") for part in parts}
    page.close()
    assert set(masks.values()) == {"none"}, "paper does not scroll"
    assert all(parse(left) == 0 < 20 < parse(right) for left, right in signs.values()), signs


def test_a_flag_on_the_site_is_not_broken_after_its_hyphens(browser: Any) -> None:
    page = browser.new_page(viewport={"width": 400, "height": 700})
    words = "".join(f"<p style='width: {width}px'>with <code>--first-seed</code></p>" for width in range(100, 160, 5))
    wide = f"<p style='width: 100px'><code>{'pip install ' * 9}</code></p>"
    page.set_content(f"<style>{SITE_STYLE.read_text()}</style><article class='md-typeset'>{words}{wide}")
    lines = page.locator("code").evaluate_all(
        "codes => codes.map((code) => { const all = document.createRange(); all.selectNodeContents(code);"
        " return new Set([...all.getClientRects()].map((line) => line.top)).size; })"
    )
    widest = page.locator("code").last.bounding_box()["width"]
    page.close()
    assert set(lines[:-1]) == {1}
    assert lines[-1] > 1
    assert widest <= 100


def test_a_table_on_the_site_scrolls_before_names_are_broken(browser: Any) -> None:
    """Its generator lets all code break anywhere, so that a narrow table would have four letters a line."""
    page = browser.new_page(viewport={"width": 300, "height": 700})
    style = f".md-typeset code {{ word-break: break-word }} {SITE_STYLE.read_text()}"
    row = f"<td class='words'>{'many words ' * 9}</td>" * 3 + "<td><code>interpolate_actions=False</code></td>"
    page.set_content(f"<style>{style}</style><article class='md-typeset'><table><tr>{row}</tr></table>")
    size = float(page.locator("code").evaluate("one => parseFloat(getComputedStyle(one).fontSize)"))
    code, words = (page.locator(one).first.bounding_box() for one in ("code", "td"))
    page.close()
    assert code["height"] < 2 * size, "one line"
    assert words["width"] > 7 * size


def parse(pixels: str) -> float:
    return float(pixels.removesuffix("px"))


@pytest.mark.parametrize("dark", [False, True])
def test_a_view_is_accessible(open_page: Open, view: str, dark: bool) -> None:
    page = open_page(view, dark=dark)
    page.page.locator(".what-if summary").first.click()
    assert accessibility_faults(page) == []


def test_every_control_is_reached_by_the_keyboard(open_page: Open, view: str) -> None:
    page = open_page(view)
    page.press("c")
    page.page.locator(".what-if").evaluate("one => (one.open = true)")
    reached = set()
    for _ in range(60):
        page.page.keyboard.press("Tab")
        reached.add(
            page.page.evaluate(
                "[...document.querySelectorAll('button, select, input, summary')].indexOf(document.activeElement)"
            )
        )
    controls = page.page.evaluate(
        """[...document.querySelectorAll("button, select, input, summary")].flatMap((one, at) =>
            one.checkVisibility() && !one.disabled ? [at] : [])"""
    )
    assert set(controls) <= reached


def test_a_finger_drags_a_head_and_scrolls_elsewhere(browser: Any, tmp_path: Any, view: str) -> None:
    """A touch on a head is the page's, any other is the browser's."""
    (tmp_path / "page.html").write_text(view, encoding="utf-8")
    context = browser.new_context(viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True)
    page = context.new_page()
    page.goto((tmp_path / "page.html").as_uri())
    page.locator(".cell").first.wait_for()
    page.locator(".what-if summary").first.tap()
    sizes = page.locator("button, select, summary, label:has(> :is(input, select))").evaluate_all(
        "all => all.filter((one) => one.checkVisibility()).map((one) => one.getBoundingClientRect().height)"
    )
    assert min(sizes) >= 40, "a finger finds every control"
    taken = (
        page.locator("canvas.keys")
        .nth(1)
        .evaluate(
            """canvas => {
            canvas.scrollIntoView({ block: "center" });
            const box = canvas.getBoundingClientRect();
            const touch = (x, y) => {
                const one = new Touch({ identifier: 1, target: canvas, clientX: x, clientY: y });
                const event = new TouchEvent("touchstart", { touches: [one], cancelable: true, bubbles: true });
                canvas.dispatchEvent(event);
                return event.defaultPrevented;
            };
            let count = 0;
            const places = [];
            for (let x = 5; x < box.width; x += 10) for (let y = 5; y < box.height; y += 10) places.push([x, y]);
            for (const [x, y] of places) count += touch(box.left + x, box.top + y);
            return [count, places.length];
        }"""
        )
    )
    context.close()
    assert 0 < taken[0] < taken[1] / 10


def test_on_paper(open_page: Open, view: str) -> None:
    """Controls are left out, nothing is cut off at the side, and a dark screen prints dark on white."""
    page = open_page(view, dark=True)
    page.page.emulate_media(media="print")
    page.page.set_viewport_size({"width": 780, "height": 1100})
    page.settle()
    for part in (".controls", ".desk", ".buttons", ".views"):
        assert page.page.locator(part).first.is_hidden(), part
    assert page.page.evaluate("document.documentElement.scrollWidth") <= 780
    fits = "all => all.map((one) => getComputedStyle(one).objectFit)"
    assert set(page.page.locator("canvas:visible").evaluate_all(fits)) == {"contain"}, "drawn for another window"
    assert page.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(247, 246, 243)"

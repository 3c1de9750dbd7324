"""What a person would complain about in a page, found in the page itself."""

import pathlib

from opened import Opened

WINDOWS = ((360, 740), (800, 1000), (1280, 720), (1800, 1100))
AXE = (pathlib.Path(__file__).parent / "vendor" / "axe.min.js").read_text(encoding="utf-8")

# Controls that are cut off, covered, too small or on top of one another; text that is cut off; pictures that are slits.
_FAULTS = """() => {
    const faults = [];
    const width = document.documentElement.clientWidth;
    if (document.documentElement.scrollWidth > width) faults.push(`it is ${document.documentElement.scrollWidth} wide`);
    const named = (one) =>
        `${one.tagName.toLowerCase()}.${one.className || one.id} ${(one.textContent || "").slice(0, 20)}`;
    const shown = (one) => one.checkVisibility({ visibilityProperty: true }) && !one.closest("dialog:not([open])");
    const all = (selector) => [...document.querySelectorAll(selector)].filter(shown);
    const controls = all("button, select, input, summary, canvas.keys, canvas.heat, canvas.lanes");
    for (const one of controls) {
        one.scrollIntoView({ block: "center" });
        const box = one.getBoundingClientRect();
        if (box.left < -1 || box.right > width + 1) faults.push(`cut off: ${named(one)}`);
        if (box.width < 13 || box.height < 13) faults.push(`too small: ${named(one)}`);
        const found = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
        if (!one.contains(found)) faults.push(`${named(one)} is below ${found ? named(found) : "the window"}`);
    }
    scrollTo(0, 0);
    const texts = "h1, h2, h3, p, .verdict, .legend, .about, output, .cells, .note, svg, td, th";
    const blocks = [...controls, ...all(texts)];
    const boxes = blocks.map((one) => one.getBoundingClientRect());
    blocks.forEach((one, at) => blocks.forEach((other, to) => {
        if (to <= at || one.contains(other) || other.contains(one)) return;
        if (one.closest(".wide-table") || other.closest(".wide-table")) return;  // it scrolls
        const across = Math.min(boxes[at].right, boxes[to].right) - Math.max(boxes[at].left, boxes[to].left);
        const down = Math.min(boxes[at].bottom, boxes[to].bottom) - Math.max(boxes[at].top, boxes[to].top);
        if (across > 1 && down > 1) faults.push(`${named(one)} overlaps ${named(other)}`);
    }));
    for (const one of all("h1, h2, h3, p, span, button, label, output, td, th, li, dd, dt")) {
        const { overflowX, overflowY } = getComputedStyle(one);
        const cut = one.scrollWidth > one.clientWidth + 1 || one.scrollHeight > one.clientHeight + 2;
        const hides = overflowX === "hidden" || overflowY === "hidden";
        if (cut && one.clientWidth && hides) faults.push(`cut text: ${named(one)}`);
    }
    for (const one of all("*")) {
        const style = getComputedStyle(one);
        if (!/auto|scroll/.test(style.overflowX) || one.scrollWidth <= one.clientWidth + 1) continue;
        const signs = ["--more-left", "--more-right"].map((side) => parseFloat(style.getPropertyValue(side)) || 0);
        if (Math.max(...signs) < 8 || style.maskImage === "none") faults.push(`scrolls without a sign: ${named(one)}`);
    }
    for (const one of all("canvas.keys")) {
        const { width, height } = one.getBoundingClientRect();
        if (width < 200 || height < 200) faults.push(`a slit of ${width} x ${height}`);
    }
    return faults;
}"""


def faults(page: Opened, width: int, height: int) -> list[str]:
    """What is wrong in a window of this size."""
    page.page.set_viewport_size({"width": width, "height": height})
    page.settle()
    return [f"{width}: {fault}" for fault in page.page.evaluate(_FAULTS)]


def accessibility_faults(page: Opened) -> list[str]:
    """What axe-core finds that is serious or critical."""
    if page.page.evaluate("typeof window.axe === 'undefined'"):
        page.page.evaluate(AXE)
    found = page.page.evaluate("() => axe.run(document, { resultTypes: ['violations'] })")
    return [
        f"{one['id']}: {one['help']}: {[node['html'][:120] for node in one['nodes'][:3]]}"
        for one in found["violations"]
        if one["impact"] in ("serious", "critical")
    ]

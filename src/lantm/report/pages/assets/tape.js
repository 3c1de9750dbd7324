// The symbols: what went in, what should come out, and what did. Cells of the input glow with the weight that
// the shown reading gives their memory; cells of the answer glow when a memory is pointed at, by who read it.

class Tape {
  /** `point(focus, kept)` is told what the mouse is over (null: nothing), and whether it was clicked. */
  constructor(point) {
    this.point = point;
    this.input = element("div", { class: "cells", "data-row": "input" });
    this.answer = element("div", { class: "cells", "data-row": "answer" });
    this.root = element(
      "div",
      { class: "tape" },
      element("div", { class: "row" }, element("span", { class: "name" }, "input"), this.input),
      element(
        "div",
        { class: "row" },
        element("span", { class: "name two-lines" }, element("i", {}, "expected"), element("i", {}, "answered")),
        this.answer,
      ),
    );
    this.glowing = [];
    this.scrolls = true;
    for (const row of [this.input, this.answer]) {
      row.addEventListener("pointermove", (event) => this.over(event, false));
      row.addEventListener("click", (event) => this.over(event, true));
      row.addEventListener("pointerenter", () => (this.scrolls = false));
      row.addEventListener("pointerleave", () => {
        this.scrolls = true;
        this.point(null, false);
      });
    }
  }

  over(event, kept) {
    const cell = event.target.closest(".cell");
    if (!cell || !this.scene) return;
    const step = Number(cell.dataset.step);
    const slot = this.scene.slotOf(step);
    this.point({ step, slot: slot < 0 ? null : slot }, kept);
  }

  show(scene) {
    this.scene = scene;
    this.glowing = [];
    const inputs = scene.inputs.slice(0, scene.answer).map((symbol, step) => {
      const marker = symbol.length > 1 ? " marker" : "";
      return element("span", { class: `cell${marker}`, "data-step": step }, visible(symbol));
    });
    const answers = scene.expected.map((symbol, place) => {
      const wrong = scene.mistakes.has(place) ? " wrong" : "";
      const marker = Math.max(symbol.length, scene.predicted[place].length) > 1 ? " marker" : "";
      return element(
        "span",
        { class: `cell pair${wrong}${marker}`, "data-step": scene.answer + place },
        element("b", {}, visible(symbol)),
        element("b", {}, visible(scene.predicted[place])),
      );
    });
    this.input.replaceChildren(...inputs);
    this.answer.replaceChildren(...answers);
    this.current = null;
  }

  cell(step) {
    const { answer } = this.scene;
    return step < answer ? this.input.children[step] : this.answer.children[step - answer];
  }

  draw(focus) {
    const { scene } = this;
    if (this.current) this.current.classList.remove("current");
    for (const cell of this.glowing) cell.style.removeProperty("--glow");
    this.glowing = [];
    this.current = this.cell(focus.step);
    this.current.classList.add("current");

    const used = scene.read(focus.step - 1);
    for (const { slot, weight } of used) this.glow(scene.stepOf(slot), weight);
    if (focus.slot !== null) for (const { step, weight } of scene.readers(focus.slot)) this.glow(step, weight);

    if (this.scrolls) {
      this.reveal(this.current);
      const answering = focus.step >= scene.answer;
      const peak = answering && used.length ? scene.stepOf(used[0].slot) : -1;
      if (peak >= 0) this.reveal(this.input.children[peak]);
      if (!answering) this.answer.scrollLeft = 0;
    }
  }

  glow(step, weight) {
    const cell = step < 0 ? null : this.cell(step);
    if (!cell) return;
    cell.style.setProperty("--glow", `${Math.round(100 * Math.sqrt(weight))}%`);
    this.glowing.push(cell);
  }

  /** Scrolls a row, and nothing else of the page, so that a cell is in its middle third. */
  reveal(cell) {
    const row = cell.parentElement;
    const at = cell.offsetLeft - row.scrollLeft; // a row is what its cells' offsets count from
    if (at < row.clientWidth / 3 || at > (2 * row.clientWidth) / 3) {
      row.scrollLeft = cell.offsetLeft - row.clientWidth / 2;
    }
  }
}

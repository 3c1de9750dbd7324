// Draws the symbols: input, expected answer and prediction. Cells of the input glow with the read weight of their memory in
// the shown step; cells of the answer glow when a memory is pointed at, by how much they read it. For a text, each step has
// a cell in both rows: the word that it reads, and the next word beside the prediction.

class Tape {
  /** `point(focus, kept)` is told what the mouse is over (null: nothing), and whether it was clicked. */
  constructor(point) {
    this.point = point;
    this.input = element("div", { class: "cells", "data-row": "input", tabindex: 0, role: "group", "aria-label": "Input" });
    this.answer = element("div", { class: "cells", "data-row": "answer", tabindex: 0, role: "group", "aria-label": "Answer" });
    this.order = element("p", { class: "order" });
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
      this.order,
    );
    this.glowing = [];
    this.scrolls = true;
    for (const row of [this.input, this.answer]) {
      scrolling(row);
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
    const slot = step < this.scene.given ? this.scene.slotOf(step) : -1; // a symbol of the answer is about its read
    this.point({ step, slot: slot < 0 ? null : slot }, kept);
  }

  /** `task` says how symbols are to be read, where there is more to it than the order of time, and `about` which. */
  show(scene, task, about) {
    this.scene = scene;
    this.glowing = [];
    this.filled = 0;
    this.shown = null;
    this.order.textContent = task?.order ? task.order(about) : "";
    this.order.hidden = !task?.order;
    const inputs = scene.inputs.slice(0, scene.given).map((symbol, step) => {
      const line = step > 0 && task?.underlined?.(step - 1) ? " underlined" : "";
      return element("span", { class: `cell${this.kind(symbol)}${line}`, "data-step": step }, visible(symbol));
    });
    const answers = scene.expected.map((symbol, place) =>
      element(
        "span",
        { class: `cell pair${this.kind(symbol)}`, "data-step": scene.answer + place },
        element("b", {}, visible(symbol)),
        element("b"),
      ),
    );
    this.input.replaceChildren(...inputs);
    this.answer.replaceChildren(...answers);
    this.current = [];
    this.fill();
  }

  kind(symbol) {
    return this.scene.text ? " word" : symbol.length > 1 ? " marker" : "";
  }

  /** Answers that were given since. */
  fill() {
    const { scene } = this;
    for (; this.filled < scene.predicted.length; this.filled++) {
      const cell = this.answer.children[this.filled];
      const symbol = scene.predicted[this.filled];
      cell.lastChild.textContent = visible(symbol);
      if (symbol.length > 1) cell.classList.add(scene.text ? "word" : "marker");
      cell.classList.toggle("wrong", scene.mistakes.has(this.filled));
    }
  }

  /** While a machine is seen at work, only the answers up to a step are there; null shows all. */
  hideAfter(step) {
    const { children } = this.answer;
    const given = (until) => (until === null ? children.length : clamp(until - this.scene.answer + 1, 0, children.length));
    const [before, now] = [given(this.shown), given(step)];
    for (let place = Math.min(before, now); place < Math.max(before, now); place++) {
      children[place].classList.toggle("to-come", place >= now);
    }
    this.shown = step;
  }

  /** The cells of a step. */
  cells(step) {
    return [this.input.children[step], this.answer.children[step - this.scene.answer]].filter(Boolean);
  }

  draw(focus, playing) {
    const { scene } = this;
    this.fill();
    this.hideAfter(playing ? focus.step : null);
    for (const cell of this.current) cell.classList.remove("current");
    for (const cell of this.glowing) cell.style.removeProperty("--glow");
    this.glowing = [];
    this.current = this.cells(focus.step);
    for (const cell of this.current) cell.classList.add("current");

    const used = scene.read(focus.step - 1);
    for (const { slot, weight } of used) this.glow(this.input.children[scene.stepOf(slot)], weight);
    if (focus.slot !== null) {
      for (const { step, weight } of scene.readers(focus.slot)) this.glow(this.answer.children[step - scene.answer], weight);
    }

    if (this.scrolls) {
      for (const cell of this.current) this.reveal(cell);
      const answering = focus.step >= scene.answer;
      const peak = answering && !scene.text && used.length ? this.input.children[scene.stepOf(used[0].slot)] : null;
      if (peak) this.reveal(peak);
      if (!answering) this.answer.scrollLeft = 0;
    }
  }

  glow(cell, weight) {
    if (!cell) return; // the memory that was there from the start
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

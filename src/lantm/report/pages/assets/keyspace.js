// The key space: memories as red circles, darker where stronger; readings of the answer as blue discs joined in
// the order of time; the heads where they stand; what the shown step read, as lines to the memories. Of heads that
// settle: a ring around the memory that the shown step ends on; readings without one are hollow.

const READ_COLOURS = ["read", "read-2", "read-3"];
const WRITE_COLOURS = ["write", "write-2"];

const VIEWS = { all: "Everything", start: "The first memories", end: "The last memories", here: "Around the read head" };

class KeySpace {
  /** `view` is the one to begin with. */
  constructor(point, view) {
    this.point = point;
    this.canvas = element("canvas", { class: "keys", role: "img", "aria-label": "The key space" });
    this.buttons = element("div", { class: "views" });
    for (const [name, title] of Object.entries(VIEWS)) {
      const button = element("button", { title, "data-view": name, "aria-pressed": "false" }, name);
      button.addEventListener("click", () => this.choose(name));
      this.buttons.append(button);
    }
    this.note = element("span", { class: "note" });
    this.root = element("div", { class: "card keyspace" }, this.canvas, this.buttons, this.note);
    this.choose(view, false);
    this.listen();
  }

  choose(name, draw = true) {
    this.view = name;
    for (const button of this.buttons.children) {
      button.setAttribute("aria-pressed", String(button.dataset.view === name));
    }
    if (draw && this.scene) this.draw(this.focus);
  }

  listen() {
    const { canvas } = this;
    let dragged = null;
    canvas.addEventListener("wheel", (event) => {
      // On a page that scrolls, the wheel alone belongs to the page.
      if (!this.frame || !(event.ctrlKey || document.body.classList.contains("whole-page"))) return;
      event.preventDefault();
      const [x, y] = this.inside(event);
      this.zoom(Math.exp(clamp(event.deltaY, -200, 200) * 0.002), x, y);
    }, { passive: false });
    canvas.addEventListener("pointerdown", (event) => {
      dragged = { at: this.inside(event), moved: false };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      const at = this.inside(event);
      if (dragged && this.frame) {
        const [dx, dy] = [at[0] - dragged.at[0], at[1] - dragged.at[1]];
        if (dragged.moved || Math.hypot(dx, dy) > 4) {
          const { cx, cy, sx, sy } = this.frame;
          this.own = { cx: cx - dx / sx, cy: cy + dy / sy, sx, sy };
          this.choose(null);
          dragged = { at, moved: true };
        }
        return;
      }
      this.point(this.nearest(at), false);
    });
    canvas.addEventListener("pointerup", (event) => {
      const near = dragged && !dragged.moved ? this.nearest(this.inside(event)) : null;
      dragged = null;
      if (near) this.point(near, true);
    });
    canvas.addEventListener("pointerleave", () => this.point(null, false));
    canvas.addEventListener("dblclick", () => this.choose("all"));
  }

  inside(event) {
    const box = this.canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  zoom(factor, x, y) {
    const { cx, cy, sx, sy, width, height } = this.frame;
    const [dx, dy] = [(x - width / 2) * (1 - factor), (y - height / 2) * (1 - factor)];
    this.own = { cx: cx + dx / sx, cy: cy - dy / sy, sx: sx / factor, sy: sy / factor };
    this.choose(null);
  }

  /** The memory or the reading below the mouse. */
  nearest([x, y]) {
    if (!this.frame) return null;
    let [best, found] = [14, null];
    const consider = (place, focus) => {
      const [px, py] = this.onScreen(place);
      const distance = Math.hypot(px - x, py - y);
      if (distance < best) [best, found] = [distance, focus];
    };
    const { scene } = this;
    for (let slot = scene.firstSlot; slot < scene.slots; slot++) {
      consider(scene.address(slot), { step: scene.stepOf(slot), slot });
    }
    for (let step = scene.firstRead + 1; step < scene.steps; step++) {
      for (let head = 0; head < scene.reads; head++) consider(scene.place(step - 1, head), { step, slot: null });
    }
    return found;
  }

  onScreen([x, y]) {
    const { cx, cy, sx, sy, width, height } = this.frame;
    return [width / 2 + (x - cx) * sx, height / 2 - (y - cy) * sy];
  }

  show(scene) {
    this.scene = scene;
    this.note.textContent = scene.heads ? scene.space.note : "";
  }

  /** Places that the chosen view has to hold. */
  held() {
    const { scene, focus, view } = this;
    const places = [];
    const { width, height } = this.canvas.getBoundingClientRect();
    const few = Math.min(clamp(Math.floor(Math.min(width, height) / 26), 5, 14), scene.slots); // with room for symbols
    if (view === "here" && scene.reads) {
      // The memories next to a read head, as many as in the views of the beginning and the end; of several heads the
      // one that is next to a memory, since another may be far away from all of them, and idle.
      const from = (head) => {
        const [x, y] = scene.place(focus.step, head);
        const apart = (slot) => Math.hypot(scene.address(slot)[0] - x, scene.address(slot)[1] - y);
        return { place: [x, y], distances: Float64Array.from({ length: scene.slots }, (_, slot) => apart(slot)) };
      };
      const heads = Array.from({ length: scene.reads }, (_, head) => from(head));
      const { place, distances } = heads.reduce((one, other) => (min(other.distances) < min(one.distances) ? other : one));
      const reach = distances.slice().sort()[few - 1];
      places.push(place);
      for (let slot = 0; slot < scene.slots; slot++) if (distances[slot] <= reach) places.push(scene.address(slot));
      return places;
    }
    const [from, to] = view === "start" ? [0, few] : view === "end" ? [scene.slots - few, scene.slots] : [0, scene.slots];
    for (let slot = from; slot < to; slot++) places.push(scene.address(slot));
    if (view === "all") {
      for (let step = scene.firstRead; step < scene.steps; step++) {
        for (let head = 0; head < scene.reads; head++) places.push(scene.place(step, head));
      }
      for (const line of scene.space.outline) places.push(...line);
    }
    return places;
  }

  setFrame(width, height) {
    if (this.view === null) {
      this.frame = { ...this.own, width, height };
      return;
    }
    const places = this.held().filter(([x, y]) => Number.isFinite(x) && Number.isFinite(y));
    if (!places.length) places.push([0, 0]);
    const [xs, ys] = [places.map((place) => place[0]), places.map((place) => place[1])];
    const [left, right, low, high] = [min(xs), max(xs), min(ys), max(ys)];
    let [sx, sy] = [(width - 44) / (right - left || 1), (height - 74) / (high - low || 1)];
    if (this.scene.space.equal) sx = sy = Math.min(sx, sy);
    this.frame = { cx: (left + right) / 2, cy: (low + high) / 2, sx, sy, width, height };
  }

  draw(focus) {
    this.focus = focus;
    const { scene } = this;
    const { context, width, height } = fitted(this.canvas);
    if (!scene.heads) return;
    this.setFrame(width, height);
    this.radius = clamp(0.36 * this.spacing(), 2.2, 11);
    this.grid(context);
    this.outline(context);
    this.memories(context);
    this.readings(context);
    this.symbols(context);
    this.reading(context);
    this.standing(context);
    this.mistake(context);
  }

  /** The usual distance between neighbouring memories of a head, in pixels, from some of them. */
  spacing() {
    const { scene, frame } = this;
    const gaps = [];
    const stride = Math.max(1, Math.floor(scene.slots / 200));
    for (let slot = scene.firstSlot + scene.writes; slot < scene.slots; slot += stride) {
      const [one, other] = [scene.address(slot - scene.writes), scene.address(slot)];
      gaps.push(Math.hypot((one[0] - other[0]) * frame.sx, (one[1] - other[1]) * frame.sy));
    }
    gaps.sort((one, other) => one - other);
    return gaps[Math.floor(gaps.length / 2)] || 20;
  }

  /** Lines at round numbers, with the numbers at the edges. */
  grid(context) {
    const { cx, cy, sx, sy, width, height } = this.frame;
    const rounded = (scale) => {
      const rough = 80 / scale;
      const power = 10 ** Math.floor(Math.log10(rough));
      return [1, 2, 5, 10].find((digit) => digit * power >= rough) * power;
    };
    const written = (value, unit) => value.toFixed(Math.max(0, -Math.floor(Math.log10(unit))));
    const [across, up] = [rounded(sx), rounded(sy)];
    context.strokeStyle = Theme.colour("line", 0.7);
    context.fillStyle = Theme.colour("quiet");
    context.font = `11px ${SANS}`;
    context.lineWidth = 1;
    context.textBaseline = "alphabetic";
    context.textAlign = "center";
    context.beginPath();
    for (let k = Math.ceil((cx - width / 2 / sx) / across); k * across < cx + width / 2 / sx; k++) {
      const x = Math.round(width / 2 + (k * across - cx) * sx) + 0.5;
      context.moveTo(x, 0);
      context.lineTo(x, height);
      if (x > 40 && x < width - 12) context.fillText(written(k * across, across), x, height - 5);
    }
    context.textAlign = "left";
    for (let k = Math.ceil((cy - height / 2 / sy) / up); k * up < cy + height / 2 / sy; k++) {
      const y = Math.round(height / 2 - (k * up - cy) * sy) + 0.5;
      context.moveTo(0, y);
      context.lineTo(width, y);
      if (y > 44 && y < height - 18) context.fillText(written(k * up, up), 4, y - 3);
    }
    context.stroke();
    const [label, other] = this.scene.space.labels;
    context.textAlign = "right";
    if (label) context.fillText(`${label} →`, width - 8, height - 20);
    context.textAlign = "left";
    if (other) context.fillText(`↑ ${other}`, 8, 20);
  }

  /** What bounds or structures the key space, as a disk's rim or a sphere's meridians. */
  outline(context) {
    context.lineWidth = 1;
    for (const [index, line] of this.scene.space.outline.entries()) {
      context.strokeStyle = Theme.colour("quiet", index ? 0.22 : 0.7); // the first is the edge of the space
      context.beginPath();
      line.forEach((place, at) => context[at ? "lineTo" : "moveTo"](...this.onScreen(place)));
      context.stroke();
    }
  }

  memories(context) {
    const { scene, focus, radius } = this;
    context.lineWidth = 1.3;
    const last = []; // what each head drew last: on a long line, a mark on top of another adds nothing
    for (let slot = 0; slot < scene.slots; slot++) {
      const [x, y] = this.onScreen(scene.address(slot));
      const step = scene.stepOf(slot);
      const there = step < focus.step || step < 0;
      const writer = slot < scene.firstSlot ? 0 : (slot - scene.firstSlot) % scene.writes;
      const before = last[writer];
      const hidden = before && before.there === there && Math.hypot(x - before.x, y - before.y) < 0.7;
      if (hidden || !this.within(x, y)) continue;
      last[writer] = { x, y, there };
      const name = WRITE_COLOURS[writer % WRITE_COLOURS.length];
      disc(context, x, y, radius);
      context.fillStyle = Theme.colour(name, (there ? 0.62 : 0.1) * scene.strength(slot));
      context.fill();
      context.strokeStyle = Theme.colour(name, there ? 1 : 0.25);
      if (step < 0) context.setLineDash([2, 2]);
      context.stroke();
      context.setLineDash([]);
    }
  }

  /** The symbol that each memory was written at, where there is room for it. */
  symbols(context) {
    const { scene, focus, radius } = this;
    if (radius < 7) return;
    context.font = `${Math.min(13, 1.25 * radius)}px ${MONO}`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    for (let slot = scene.firstSlot; slot < scene.slots; slot++) {
      const [x, y] = this.onScreen(scene.address(slot));
      const step = scene.stepOf(slot);
      if (!this.within(x, y) || scene.inputs[step].length > 1) continue;
      context.fillStyle = Theme.colour("ink", step < focus.step ? 1 : 0.35);
      context.fillText(visible(scene.inputs[step]), x, y + 0.5);
    }
  }

  within(x, y) {
    const { width, height } = this.frame;
    return x > -20 && y > -20 && x < width + 20 && y < height + 20;
  }

  readings(context) {
    const { scene, focus } = this;
    const first = scene.firstRead;
    for (let head = 0; head < scene.reads; head++) {
      const name = READ_COLOURS[head % READ_COLOURS.length];
      for (const [from, to, strong] of [
        [Math.max(first, focus.step), scene.steps - 1, false],
        [first, Math.min(focus.step, scene.steps - 1), true],
      ]) {
        if (to < from) continue;
        context.strokeStyle = Theme.colour(name, strong ? 0.75 : 0.16);
        context.fillStyle = Theme.colour(name, strong ? 0.95 : 0.25);
        context.lineWidth = 1.2;
        context.beginPath();
        for (let step = from; step <= to; step++) context.lineTo(...this.onScreen(scene.place(step, head)));
        context.stroke();
        let last = null;
        for (let step = from; step <= to; step++) {
          const [x, y] = this.onScreen(scene.place(step, head));
          if (!this.within(x, y) || (last && Math.hypot(x - last[0], y - last[1]) < 0.7)) continue;
          last = [x, y];
          disc(context, x, y, Math.max(1.6, 0.45 * this.radius));
          if (scene.settles && scene.settledOn(step, head) < 0) this.hollow(context);
          else context.fill();
        }
      }
    }
  }

  hollow(context) {
    const { fillStyle } = context;
    context.fillStyle = Theme.colour("card");
    context.fill();
    context.stroke();
    context.fillStyle = fillStyle;
  }

  /** What the shown step had read (the reading of the step before it), or who read the memory pointed at. */
  reading(context) {
    const { scene, focus } = this;
    const link = (head, from, slot, weight) => {
      context.strokeStyle = Theme.colour(READ_COLOURS[head % READ_COLOURS.length], 0.25 + 0.7 * weight);
      context.lineWidth = 0.8 + 4 * weight;
      context.beginPath();
      context.moveTo(...this.onScreen(scene.place(from, head)));
      context.lineTo(...this.onScreen(scene.address(slot)));
      context.stroke();
    };
    const used = scene.read(focus.step - 1).slice(0, 24);
    for (const { slot, head, weight } of used) link(head, focus.step - 1, slot, weight);
    const marked = focus.slot !== null ? focus.slot : used.length && focus.step >= scene.answer ? used[0].slot : null;
    if (marked !== null) {
      const [x, y] = this.onScreen(scene.address(marked));
      disc(context, x, y, this.radius + 4);
      context.strokeStyle = Theme.colour("focus");
      context.lineWidth = 1.6;
      context.stroke();
    }
  }

  /** Where the heads stand in the shown step, and what they settle on. */
  standing(context) {
    const { scene, focus } = this;
    for (let head = 0; head < scene.heads; head++) {
      const reads = head < scene.reads;
      if (!reads && scene.slotOf(focus.step) < 0) continue; // nothing is written any more
      const colours = reads ? READ_COLOURS : WRITE_COLOURS;
      const name = colours[(reads ? head : head - scene.reads) % colours.length];
      const [x, y] = this.onScreen(scene.place(focus.step, head));
      disc(context, x, y, Math.max(6, 0.7 * this.radius + 2));
      context.fillStyle = Theme.colour(name);
      context.fill();
      context.strokeStyle = Theme.colour("card");
      context.lineWidth = 2;
      context.stroke();
      if (reads && scene.settledOn(focus.step, head) >= 0) this.settling(context, [x, y], head, name);
    }
  }

  /** An arrow from where a head reads to the memory that it is put on, and a ring around that. */
  settling(context, [fromX, fromY], head, name) {
    const { scene, focus, radius } = this;
    const [x, y] = this.onScreen(scene.address(scene.settledOn(focus.step, head)));
    context.strokeStyle = Theme.colour(name);
    context.lineWidth = 2;
    disc(context, x, y, radius + 7 + 3 * head);
    context.stroke();
    if (Math.hypot(x - fromX, y - fromY) < 3) return; // no longer than its tip
    const angle = Math.atan2(y - fromY, x - fromX);
    context.strokeStyle = Theme.colour("focus");
    context.lineWidth = 1.6;
    context.beginPath();
    context.moveTo(fromX, fromY);
    context.lineTo(x, y);
    for (const side of [-1, 1]) {
      context.moveTo(x, y);
      context.lineTo(x - 5 * Math.cos(angle + 0.6 * side), y - 5 * Math.sin(angle + 0.6 * side));
    }
    context.stroke();
  }

  mistake(context) {
    const { scene } = this;
    if (scene.firstMistake === null) return;
    context.strokeStyle = Theme.colour("wrong");
    context.lineWidth = 2.6;
    for (let head = 0; head < scene.reads; head++) {
      const [x, y] = this.onScreen(scene.place(Math.max(0, scene.answer + scene.firstMistake - 1), head));
      const arm = 7;
      context.beginPath();
      context.moveTo(x - arm, y - arm);
      context.lineTo(x + arm, y + arm);
      context.moveTo(x + arm, y - arm);
      context.lineTo(x - arm, y + arm);
      context.stroke();
    }
  }
}

function disc(context, x, y, radius) {
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
}

function min(numbers) {
  return numbers.reduce((one, other) => Math.min(one, other));
}

function max(numbers) {
  return numbers.reduce((one, other) => Math.max(one, other));
}

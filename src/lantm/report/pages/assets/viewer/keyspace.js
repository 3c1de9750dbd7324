// Draws the key space: memories as red circles, darker where stronger; reads of the answer joined in order of time; the
// heads; lines from the shown read to the memories. With settling: a ring around the memory that the shown step settles on;
// reads that settle on none are hollow. Heads of a machine that runs in the page can be dragged.

const LINKED = 0.05; // of a reading: a smaller share has no line, or heads that read a little of everything draw a fan
const GRAB = 16; // pixels: as near as a head has to be to be dragged

class KeySpace {
  /** `view` is the one to begin with; `push(head, place)` is told where a head was dragged to. */
  constructor(point, view, push) {
    this.point = point;
    this.push = push;
    this.marks = new Marks(this);
    this.pinned = 0; // the step of the scrubber, wherever the mouse is
    this.canvas = element("canvas", { class: "keys", role: "img", "aria-label": `The key space: ${VIEWS[view].toLowerCase()}` });
    this.buttons = element("div", { class: "views", role: "group", "aria-label": "What to show of the key space" });
    for (const [name, title] of Object.entries(VIEWS)) {
      const button = element("button", { type: "button", title, "data-view": name, "aria-pressed": "false" }, name);
      button.addEventListener("click", () => this.choose(name));
      this.buttons.append(button);
    }
    this.note = element("span", { class: "note" });
    const bar = element("div", { class: "keyspace-bar" }, this.note, this.buttons);
    this.root = element("div", { class: "card keyspace" }, bar, element("div", { class: "keys-holder" }, this.canvas));
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

  // Mouse and touch.

  listen() {
    const { canvas } = this;
    let dragged = null;
    canvas.addEventListener("wheel", (event) => {
      // On a page that scrolls, the wheel alone belongs to the page.
      const scrolls = document.documentElement.scrollHeight > window.innerHeight + 1;
      if (!this.frame || (scrolls && !event.ctrlKey)) return;
      event.preventDefault();
      const [x, y] = this.inside(event);
      this.zoom(Math.exp(clamp(event.deltaY, -200, 200) * 0.002), x, y);
    }, { passive: false });
    // A finger on a head drags it; elsewhere it scrolls the page.
    canvas.addEventListener("touchstart", (event) => {
      if (event.touches.length === 1 && this.headAt(this.inside(event.touches[0])) !== null) event.preventDefault();
    }, { passive: false });
    canvas.addEventListener("pointerdown", (event) => {
      const at = this.inside(event);
      dragged = { at, moved: false, head: this.headAt(at) };
      if (dragged.head !== null) this.point(null, false); // it is dragged from where it stands, not from what is pointed at
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      const at = this.inside(event);
      if (dragged && this.frame) this.drag(dragged, at);
      else {
        const head = this.headAt(at);
        canvas.classList.toggle("grabs", head !== null);
        this.point(head === null ? this.nearest(at) : null, false);
      }
    });
    canvas.addEventListener("pointerup", (event) => {
      const at = this.inside(event);
      const near = dragged && !dragged.moved ? this.nearest(at) : null;
      const head = dragged && dragged.moved ? dragged.head : null;
      dragged = this.held = null;
      if (head !== null) this.push(head, this.inSpace(at));
      else if (near) this.point(near, true);
    });
    canvas.addEventListener("pointercancel", () => (dragged = this.held = null));
    canvas.addEventListener("pointerleave", () => this.point(null, false));
    canvas.addEventListener("dblclick", () => this.choose("all"));
  }

  drag(dragged, at) {
    const [dx, dy] = [at[0] - dragged.at[0], at[1] - dragged.at[1]];
    if (!dragged.moved && Math.hypot(dx, dy) <= 4) return;
    dragged.moved = true;
    if (dragged.head !== null) {
      this.held = { head: dragged.head, at };
      this.draw(this.focus);
      return;
    }
    dragged.at = at;
    const { cx, cy, sx, sy } = this.frame;
    this.own = { cx: cx - dx / sx, cy: cy + dy / sy, sx, sy };
    this.choose(null);
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

  /** The head that stands below the mouse and can be dragged; null if there is none. */
  headAt([x, y]) {
    const { scene, pinned, frame } = this;
    if (!frame || !scene || !scene.live || pinned >= scene.known) return null;
    let [best, found] = [GRAB, null];
    for (let head = 0; head < scene.heads; head++) {
      if (!this.stands(head, pinned)) continue;
      const [px, py] = this.onScreen(scene.place(pinned, head));
      const distance = Math.hypot(px - x, py - y);
      if (distance < best) [best, found] = [distance, head];
    }
    return found;
  }

  /** Whether a head is shown: a write head is gone when nothing is written any more. */
  stands(head, step) {
    return head < this.scene.reads || this.scene.slotOf(step) >= 0;
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
    for (let slot = scene.firstSlot; slot < scene.written; slot++) {
      consider(scene.address(slot), { step: scene.stepOf(slot), slot });
    }
    for (let step = scene.firstRead + 1; step < scene.known; step++) {
      for (let head = 0; head < scene.reads; head++) consider(scene.place(step - 1, head), { step, slot: null });
    }
    return found;
  }

  onScreen([x, y]) {
    const { cx, cy, sx, sy, width, height } = this.frame;
    return [width / 2 + (x - cx) * sx, height / 2 - (y - cy) * sy];
  }

  inSpace([x, y]) {
    const { cx, cy, sx, sy, width, height } = this.frame;
    return [cx + (x - width / 2) / sx, cy - (y - height / 2) / sy];
  }

  within(x, y) {
    const { width, height } = this.frame;
    return x > -20 && y > -20 && x < width + 20 && y < height + 20;
  }

  // Pictures.

  show(scene) {
    this.scene = scene;
    this.themeChanged();
    this.framed = null;
    this.note.textContent = scene.heads ? scene.space.note : "";
  }

  /** What was painted once is to be painted again. */
  themeChanged() {
    this.marks.known = -1;
  }

  setFrame(width, height) {
    const { scene, view, focus } = this;
    if (view === null) {
      this.frame = { ...this.own, width, height };
      return;
    }
    const wanted = [view, width, height, scene.known, view === "here" ? focus.step : null].join();
    if (this.framed === wanted) return;
    this.framed = wanted;
    this.frame = frameOf(heldPlaces(scene, view, focus.step, width, height), scene.space.equal, width, height);
  }

  draw(focus) {
    this.focus = focus;
    const { scene } = this;
    const { context, width, height, ratio } = fitted(this.canvas);
    if (!scene.heads || width < 2) return;
    const before = this.frame;
    this.setFrame(width, height);
    if (this.view === null) this.framed = null;
    const moved = !before || ["cx", "cy", "sx", "sy", "width", "height"].some((name) => before[name] !== this.frame[name]);
    if (moved || this.marks.known !== scene.known) {
      this.radius = clamp(0.36 * this.spacing(), 2.2, 11);
      this.marks.prepare(this.canvas, ratio);
    }
    this.grid(context);
    this.outline(context);
    this.marks.show(context, focus.step, width, height);
    this.symbols(context);
    this.reading(context);
    this.standing(context);
    this.mistake(context);
    if (this.held) this.holding(context);
  }

  /** The usual distance between neighbouring memories of a head, in pixels, from some of them. */
  spacing() {
    const { scene, frame } = this;
    const gaps = [];
    const stride = Math.max(1, Math.floor(scene.written / 200));
    for (let slot = scene.firstSlot + scene.writes; slot < scene.written; slot += stride) {
      const [one, other] = [scene.address(slot - scene.writes), scene.address(slot)];
      gaps.push(Math.hypot((one[0] - other[0]) * frame.sx, (one[1] - other[1]) * frame.sy));
    }
    gaps.sort((one, other) => one - other);
    return gaps[Math.floor(gaps.length / 2)] || 20;
  }

  /** The places of the memories that are in the picture. */
  memoriesInside() {
    const places = Array.from({ length: this.scene.written }, (_, slot) => this.onScreen(this.scene.address(slot)));
    return places.filter(([x, y]) => this.within(x, y));
  }

  /** Lines at round numbers, with the numbers at the edges where no memory is in their way. */
  grid(context) {
    const { cx, cy, sx, sy, width, height } = this.frame;
    const rounded = (scale) => {
      const rough = 80 / scale;
      const power = 10 ** Math.floor(Math.log10(rough));
      return [1, 2, 5, 10].find((digit) => digit * power >= rough) * power;
    };
    const written = (value, unit) => value.toFixed(Math.max(0, -Math.floor(Math.log10(unit))));
    const [across, up] = [rounded(sx), rounded(sy)];
    const numbers = [];
    const memories = this.memoriesInside();
    const free = (x, y) => memories.every((place) => Math.abs(place[0] - x) > 14 + this.radius || Math.abs(place[1] - y) > 6 + this.radius);
    context.strokeStyle = Theme.colour("line", 0.7);
    context.lineWidth = 1;
    context.beginPath();
    for (let k = Math.ceil((cx - width / 2 / sx) / across); k * across < cx + width / 2 / sx; k++) {
      const x = Math.round(width / 2 + (k * across - cx) * sx) + 0.5;
      context.moveTo(x, 0);
      context.lineTo(x, height);
      if (x > 40 && x < width - 12 && free(x, height - 9)) numbers.push([written(k * across, across), x, height - 5, "center"]);
    }
    for (let k = Math.ceil((cy - height / 2 / sy) / up); k * up < cy + height / 2 / sy; k++) {
      const y = Math.round(height / 2 - (k * up - cy) * sy) + 0.5;
      context.moveTo(0, y);
      context.lineTo(width, y);
      if (y > 24 && y < height - 18 && free(14, y - 7)) numbers.push([written(k * up, up), 4, y - 3, "left"]);
    }
    context.stroke();
    context.font = `11px ${SANS}`;
    context.textBaseline = "alphabetic";
    context.fillStyle = Theme.colour("quiet");
    context.strokeStyle = Theme.colour("card"); // a rim, for no line to cross a number
    context.lineJoin = "round";
    context.lineWidth = 4;
    for (const [number, x, y, align] of numbers) {
      context.textAlign = align;
      context.strokeText(number, x, y);
      context.fillText(number, x, y);
    }
    const [label, other] = this.scene.space.labels;
    context.textAlign = "right";
    if (label) context.fillText(`${label} →`, width - 8, height - 20);
    context.textAlign = "left";
    if (other) context.fillText(`↑ ${other}`, 8, 14);
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
    if (!this.scene.space.cross) return;
    const [x, y] = this.onScreen([0, 0]);
    context.strokeStyle = Theme.colour("quiet", 0.7);
    context.strokeRect(x - 8, y, 16, 0);
    context.strokeRect(x, y - 8, 0, 16);
  }

  /** The symbol that each memory was written at, where there is room for it: of two memories that overlap, the first one's. */
  symbols(context) {
    const { scene, focus, radius } = this;
    if (radius < 7) return;
    const told = [];
    context.font = `${Math.min(13, 1.25 * radius)}px ${MONO}`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.lineJoin = "round";
    context.lineWidth = 3;
    for (let slot = scene.firstSlot; slot < scene.written; slot++) {
      const [x, y] = this.onScreen(scene.address(slot));
      const step = scene.stepOf(slot);
      if (!this.within(x, y) || scene.inputs[step].length > 1) continue;
      if (told.some((place) => Math.hypot(place[0] - x, place[1] - y) < 1.2 * radius)) continue;
      told.push([x, y]);
      const strength = step < focus.step ? 1 : 0.35;
      context.strokeStyle = Theme.colour("card", 0.8 * strength); // a rim, since marks of readings lie below
      context.fillStyle = Theme.colour("ink", strength);
      context.strokeText(visible(scene.inputs[step]), x, y + 0.5);
      context.fillText(visible(scene.inputs[step]), x, y + 0.5);
    }
  }

  /** What the shown step had read (the reading of the step before it), or who read the memory pointed at. */
  reading(context) {
    const { scene, focus } = this;
    const link = (head, from, slot, weight) => {
      context.strokeStyle = Theme.colour(headColour(READ_COLOURS, head), 0.95 * weight);
      context.lineWidth = 0.8 + 4 * weight;
      context.beginPath();
      context.moveTo(...this.onScreen(scene.place(from, head)));
      context.lineTo(...this.onScreen(scene.address(slot)));
      context.stroke();
    };
    const used = scene.read(focus.step - 1);
    for (const { slot, head, weight } of used) if (weight >= LINKED) link(head, focus.step - 1, slot, weight);
    const marked = focus.slot !== null ? focus.slot : used.length && focus.step >= scene.answer ? used[0].slot : null;
    if (marked !== null && marked < scene.written) {
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
      if (!this.stands(head, focus.step)) continue;
      const [x, y] = this.onScreen(scene.place(focus.step, head));
      this.head(context, head, x, y);
      if (head < scene.reads && scene.settledOn(focus.step, head) >= 0) this.settling(context, [x, y], head);
    }
  }

  /** A head; of several heads of a kind, with its number. */
  head(context, head, x, y) {
    const { scene } = this;
    const reads = head < scene.reads;
    const number = reads ? head : head - scene.reads;
    const several = (reads ? scene.reads : scene.writes) > 1;
    headMark(context, reads ? head : 0, x, y, Math.max(several ? 7 : 6, 0.7 * this.radius + 2));
    context.fillStyle = Theme.colour(headColour(reads ? READ_COLOURS : WRITE_COLOURS, number));
    context.fill();
    context.strokeStyle = Theme.colour("card");
    context.lineWidth = 2;
    context.stroke();
    if (!several) return;
    context.fillStyle = Theme.colour("card");
    context.font = `bold 10px ${SANS}`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.fillText(String(number + 1), x, y + 0.5);
  }

  /** A head that is being dragged, and the way it has come. */
  holding(context) {
    const { head, at } = this.held;
    context.strokeStyle = Theme.colour("focus");
    context.lineWidth = 1.4;
    context.setLineDash([4, 3]);
    context.beginPath();
    context.moveTo(...this.onScreen(this.scene.place(this.pinned, head)));
    context.lineTo(...at);
    context.stroke();
    context.setLineDash([]);
    this.head(context, head, ...at);
  }

  /** An arrow from where a head reads to the memory that it is put on, and a ring around that. */
  settling(context, [fromX, fromY], head) {
    const { scene, focus, radius } = this;
    const [x, y] = this.onScreen(scene.address(scene.settledOn(focus.step, head)));
    context.strokeStyle = Theme.colour(headColour(READ_COLOURS, head));
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

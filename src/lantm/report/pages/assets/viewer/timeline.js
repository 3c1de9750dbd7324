// Draws the time axis: read weights as a heat map over the memories; below it the gates of every head and the strengths of
// the writes.

const GUTTER = 148; // room for the names of the lanes
const NUMBERS = 108; // where the numbers beside the names begin
const SANS = 'system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';
const MONO = 'ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace';

const LANES = "Gates: 1 takes the new key or action, 0 keeps the head's own. Strength: 1 writes fully, 0 not at all.";

class Timeline {
  constructor(point) {
    this.point = point;
    this.heat = element("canvas", { class: "heat", role: "img", "aria-label": "Read weights of all memories over time" });
    this.lanes = element("canvas", { class: "lanes", role: "img", "aria-label": "Gates and strengths over time" });
    this.legend = element("p", { class: "lanes-legend" });
    this.root = element("div", { class: "card timeline" }, this.heat, this.lanes, this.legend);
    for (const canvas of [this.heat, this.lanes]) {
      let held = false;
      canvas.addEventListener("pointerdown", (event) => {
        held = true;
        canvas.setPointerCapture(event.pointerId);
        this.over(event, canvas, true);
      });
      canvas.addEventListener("pointerup", () => (held = false));
      canvas.addEventListener("pointermove", (event) => this.over(event, canvas, held));
      canvas.addEventListener("pointerleave", () => this.point(null, false));
    }
  }

  over(event, canvas, kept) {
    const { scene } = this;
    if (!scene) return;
    const box = canvas.getBoundingClientRect();
    const x = event.clientX - box.left - GUTTER;
    if (x < 0) return this.point(null, false);
    const step = clamp(Math.floor((x / (box.width - GUTTER)) * scene.steps), 0, scene.steps - 1);
    const row = Math.floor(((event.clientY - box.top) / box.height) * scene.slots);
    const slot = canvas === this.heat && scene.slots ? clamp(row, 0, scene.slots - 1) : null;
    this.point({ step, slot }, kept);
  }

  show(scene) {
    this.scene = scene;
    this.legend.textContent = scene.text ? LANES : `${LANES} Dashed: the answer begins.`;
    this.themeChanged();
    this.rows = [];
    for (let head = 0; head < scene.heads; head++) {
      const reads = head < scene.reads;
      const index = reads ? head : head - scene.reads;
      const colours = reads ? READ_COLOURS : WRITE_COLOURS;
      const number = (reads ? scene.reads : scene.writes) > 1 ? ` ${index + 1}` : "";
      const colour = colours[index % colours.length];
      const who = `${reads ? "read" : "write"}${number}`;
      for (const [kind, what] of ["key", "action"].entries()) {
        this.rows.push({ name: `${who} ${what} gate`, colour, value: (step) => (step < scene.known ? scene.gate(step, head, kind) : null) });
      }
      if (!reads) {
        const value = (step) => (step < scene.known && scene.slotOf(step) >= 0 ? scene.strength(scene.slotOf(step) + index) : null);
        this.rows.push({ name: `${who} strength`, colour, value });
      }
    }
    this.lanes.style.flexGrow = String(Math.max(1, this.rows.length / 5));
  }

  /** What was painted once is to be painted again. */
  themeChanged() {
    this.image = null;
    this.curves = null;
  }

  draw(focus) {
    if (!this.scene.heads) return;
    this.drawHeat(focus);
    this.drawLanes(focus);
  }

  drawHeat(focus) {
    const { scene } = this;
    const { context, width, height, ratio } = fitted(this.heat);
    const wide = width - GUTTER;
    const [columns, rows] = [Math.max(1, Math.round(wide * ratio)), Math.max(1, Math.round(height * ratio))];
    if (!this.image || this.image.width !== columns || this.image.height !== rows) this.beginPainting(columns, rows);
    this.paint();
    context.imageSmoothingEnabled = false;
    context.drawImage(this.image, GUTTER, 0, wide, height);
    this.cursor(context, focus, wide, height);
    if (focus.slot !== null) {
      const y = ((focus.slot + 0.5) / scene.slots) * height;
      context.strokeStyle = Theme.colour("write", 0.8);
      context.beginPath();
      context.moveTo(GUTTER, y);
      context.lineTo(width, y);
      context.stroke();
    }
    this.label(context, "read weights", 12, "ink");
    this.label(context, scene.weighed ? "of memory" : "not recorded", 27, "quiet");
    // The first and the last memory, each beside its row.
    context.font = `10px ${SANS}`;
    context.textAlign = "right";
    const within = (y) => clamp(y, 6, height - 6);
    if (scene.slots) context.fillText("0", GUTTER - 3, within((0.5 / scene.slots) * height));
    if (scene.slots > 1) context.fillText(String(scene.slots - 1), GUTTER - 3, within((1 - 0.5 / scene.slots) * height));
    if (focus.slot !== null) this.label(context, `memory ${focus.slot}`, height / 2, "write");
  }

  /** An empty heat map. */
  beginPainting(columns, rows) {
    this.image = element("canvas", { width: columns, height: rows });
    this.strongest = new Uint8Array(columns * rows);
    this.pixels = new ImageData(columns, rows);
    this.painted = 0; // steps
  }

  /** The heat map of the steps since, pixel by pixel, two at least for a number: of several the largest shows. */
  paint() {
    const { scene, strongest, pixels } = this;
    if (this.painted === scene.known) return;
    const { width: columns, height: rows } = pixels;
    const edge = (at, count, size) => Math.floor((at * size) / count);
    const colours = READ_COLOURS.map((name) => Theme.rgb(name));
    for (let step = this.painted; step < scene.known; step++) {
      const left = edge(step, scene.steps, columns);
      const right = Math.min(columns, Math.max(edge(step + 1, scene.steps, columns), left + 2));
      for (let head = 0; head < scene.reads; head++) {
        const colour = colours[head % colours.length];
        scene.weights.each(step, head, (slot, value) => {
          const top = edge(slot, scene.slots, rows);
          const bottom = Math.min(rows, Math.max(edge(slot + 1, scene.slots, rows), top + 2));
          for (let y = top; y < bottom; y++) {
            for (let pixel = y * columns + left; pixel < y * columns + right; pixel++) {
              if (value <= strongest[pixel]) continue;
              strongest[pixel] = value;
              pixels.data.set(colour, 4 * pixel);
              pixels.data[4 * pixel + 3] = value;
            }
          }
        });
      }
    }
    this.painted = scene.known;
    this.image.getContext("2d").putImageData(pixels, 0, 0);
  }

  drawLanes(focus) {
    const { scene, lanes } = this;
    const { context, width, height, ratio } = fitted(lanes);
    const wide = width - GUTTER;
    const { curves } = this;
    if (!curves || curves.width !== lanes.width || curves.height !== lanes.height) this.beginCurves(width, height, ratio);
    if (this.drawn < scene.known) {
      const still = this.curves.getContext("2d");
      this.rows.forEach((row, index) => this.curve(still, row, this.lane(index, width, height), Math.max(0, this.drawn - 1)));
      this.drawn = scene.known;
    }
    context.drawImage(this.curves, 0, 0, width, height);
    this.rows.forEach(({ name, colour, value }, index) => {
      const { bottom, room, at, level } = this.lane(index, width, height);
      const here = value(focus.step);
      this.label(context, name, bottom - room / 2, colour);
      this.label(context, here === null ? "–" : here.toFixed(2), bottom - room / 2, "ink", NUMBERS);
      if (here !== null) {
        disc(context, at(focus.step), level(here), 3);
        context.fillStyle = Theme.colour(colour);
        context.fill();
      }
    });
    this.cursor(context, focus, wide, height);
  }

  /** Where a lane lies: its bottom, its room, and the places of steps and of numbers from 0 to 1. */
  lane(index, width, height) {
    const tall = height / this.rows.length;
    const room = Math.min(34, tall - 8);
    const bottom = (index + 1) * tall - 4;
    const at = (step) => GUTTER + ((step + 0.5) / this.scene.steps) * (width - GUTTER);
    return { bottom, room, right: width, at, level: (share) => bottom - share * room };
  }

  /** Lanes without curves, which grow as steps become known: drawn anew in every frame, thousands of steps are slow. */
  beginCurves(width, height, ratio) {
    this.curves = element("canvas", { width: this.lanes.width, height: this.lanes.height });
    this.drawn = 0; // steps
    const context = this.curves.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.font = `10px ${SANS}`;
    context.textAlign = "right";
    context.textBaseline = "middle";
    context.fillStyle = Theme.colour("quiet");
    context.strokeStyle = Theme.colour("line");
    context.lineWidth = 1;
    for (const index of this.rows.keys()) {
      const { bottom, room, right } = this.lane(index, width, height);
      context.fillText("0", GUTTER - 3, bottom - 1);
      if (room > 12) context.fillText("1", GUTTER - 3, bottom - room + 2);
      context.beginPath();
      context.moveTo(GUTTER, Math.round(bottom) + 0.5);
      context.lineTo(right, Math.round(bottom) + 0.5);
      context.stroke();
    }
  }

  /** The curve of a lane from a step on, to the last step that is known. */
  curve(context, { colour, value }, { bottom, at, level }, from) {
    const { steps } = this.scene;
    context.beginPath();
    let last = at(from);
    for (let step = from; step < steps && value(step) !== null; step++) {
      last = at(step);
      context.lineTo(last, level(value(step)));
    }
    context.strokeStyle = Theme.colour(colour);
    context.lineWidth = 1.4;
    context.stroke();
    context.lineTo(last, bottom);
    context.lineTo(at(from), bottom);
    context.fillStyle = Theme.colour(colour, 0.14);
    context.fill();
  }

  /** The start of the answer, the first mistake and the shown step. */
  cursor(context, focus, wide, height) {
    const { scene } = this;
    const line = (x, colour, thick, dash = []) => {
      context.strokeStyle = colour;
      context.lineWidth = thick;
      context.setLineDash(dash);
      context.beginPath();
      context.moveTo(x, 0);
      context.lineTo(x, height);
      context.stroke();
      context.setLineDash([]);
    };
    if (!scene.text) line(GUTTER + (scene.answer / scene.steps) * wide, Theme.colour("quiet"), 1, [4, 3]);
    if (scene.firstMistake !== null) {
      const x = GUTTER + ((scene.answer + scene.firstMistake + 0.5) / scene.steps) * wide;
      line(x, Theme.colour("wrong", 0.9), 1.4, [2, 3]);
    }
    line(GUTTER + ((focus.step + 0.5) / scene.steps) * wide, Theme.colour("focus", 0.75), 1.2);
  }

  label(context, text, y, colour, x = 2) {
    context.font = `11px ${SANS}`;
    context.textAlign = "left";
    context.textBaseline = "middle";
    context.fillStyle = Theme.colour(colour);
    context.fillText(text, x, y, (x < NUMBERS ? NUMBERS - 4 : GUTTER - 12) - x - 2);
  }
}

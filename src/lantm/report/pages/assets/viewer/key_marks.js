// The static marks of a key space, in two layers: all of the problem, faint, and above it what has happened up to the shown
// step. The upper one grows step by step, so a step of a long problem is drawn as fast as one of a short problem.

const READ_COLOURS = ["read", "read-2", "read-3"];
const WRITE_COLOURS = ["write", "write-2"];
const headColour = (names, head) => names[head % names.length];

class Marks {
  /** `space` has the scene and the frame. */
  constructor(space) {
    this.space = space;
    this.layers = [element("canvas"), element("canvas")];
  }

  /** Draws the lower layer; the upper one begins anew. */
  prepare({ width, height }, ratio) {
    Object.assign(this, { scene: this.space.scene, known: this.space.scene.known, radius: this.space.radius });
    [this.faint, this.strong] = this.layers.map((canvas) => {
      Object.assign(canvas, { width, height }); // which clears it
      const context = canvas.getContext("2d");
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      return context;
    });
    this.begin();
    this.draw(this.faint, 0, this.scene.known, false);
    this.begin();
  }

  /** Draws both layers; `until` is the shown step. */
  show(context, until, width, height) {
    if (until < this.until) {
      this.strong.clearRect(0, 0, width, height);
      this.begin();
    }
    this.draw(this.strong, this.until, until + 1, true);
    this.until = until + 1;
    for (const canvas of this.layers) context.drawImage(canvas, 0, 0, width, height);
  }

  begin() {
    this.until = 0;
    this.slot = 0;
    this.last = {}; // what each head drew last: on a long line, a mark on top of another adds nothing
  }

  /** The marks of the steps from `from` to before `to`: memories of the steps before, readings with the shown one. */
  draw(context, from, to, strong) {
    for (let step = from; step < to; step++) {
      const there = strong ? step : step + 1;
      for (; this.slot < this.scene.written && this.scene.stepOf(this.slot) < there; this.slot++) {
        this.memory(context, this.slot, strong);
      }
      if (step < this.scene.firstRead || step >= this.scene.known) continue;
      for (let head = 0; head < this.scene.reads; head++) this.reading(context, step, head, strong);
    }
  }

  /** Whether a mark would be seen beside the last one of its head. */
  seen(who, x, y) {
    const last = this.last[who];
    if (!this.space.within(x, y) || (last && Math.hypot(x - last[0], y - last[1]) < 0.7)) return false;
    this.last[who] = [x, y];
    return true;
  }

  memory(context, slot, strong) {
    const { scene } = this;
    const [x, y] = this.space.onScreen(scene.address(slot));
    const initial = slot < scene.firstSlot;
    const writer = initial ? 0 : (slot - scene.firstSlot) % scene.writes;
    if (!this.seen(`write ${writer}`, x, y)) return;
    const name = headColour(WRITE_COLOURS, writer);
    disc(context, x, y, this.radius);
    context.lineWidth = 1.3;
    context.fillStyle = Theme.colour(name, (strong ? 0.62 : 0.1) * scene.strength(slot));
    context.fill();
    context.strokeStyle = Theme.colour(name, strong ? 1 : 0.25);
    if (initial) context.setLineDash([2, 2]);
    context.stroke();
    context.setLineDash([]);
  }

  reading(context, step, head, strong) {
    const { scene, space } = this;
    const name = headColour(READ_COLOURS, head);
    const [x, y] = space.onScreen(scene.place(step, head));
    if (step > scene.firstRead) {
      const [fromX, fromY] = space.onScreen(scene.place(step - 1, head));
      if (space.within(x, y) || space.within(fromX, fromY)) {
        context.strokeStyle = Theme.colour(name, strong ? 0.75 : 0.16);
        context.lineWidth = 1.2;
        context.beginPath();
        context.moveTo(fromX, fromY);
        context.lineTo(x, y);
        context.stroke();
      }
    }
    if (!this.seen(`read ${head}`, x, y)) return;
    headMark(context, head, x, y, Math.max(1.6, 0.45 * this.radius));
    context.fillStyle = Theme.colour(name, strong ? 0.95 : 0.25);
    if (!scene.settles || scene.settledOn(step, head) >= 0) {
      context.fill();
      return;
    }
    context.strokeStyle = Theme.colour(name, strong ? 0.95 : 0.25);
    context.fillStyle = Theme.colour("card");
    context.fill();
    context.stroke();
  }
}

function disc(context, x, y, radius) {
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
}

/** The outline of a read head's mark: they differ in shape as well as in colour. */
function headMark(context, head, x, y, radius) {
  if (head % 3 === 0) return disc(context, x, y, radius);
  const corners = head % 3 === 1 ? [[0, -1.3], [1.3, 0], [0, 1.3], [-1.3, 0]] : [[-1, -1], [1, -1], [1, 1], [-1, 1]];
  context.beginPath();
  for (const [dx, dy] of corners) context.lineTo(x + dx * radius, y + dy * radius);
  context.closePath();
}

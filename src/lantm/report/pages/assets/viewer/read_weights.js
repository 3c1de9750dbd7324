// Sparse storage of read weights by step, so that a problem of thousands of symbols takes thousands of numbers, not
// millions. Square roots are stored in 8 bits, which keeps some precision in small weights.

const FAINTEST = 0.001; // weights below it cannot be seen
const FAINTEST_SHOWN = 0.005; // of those that are named and joined by lines

class ReadWeights {
  constructor(reads) {
    this.reads = reads;
    this.ends = []; // of every reading, in the order of steps and heads
    this.count = 0;
    this.slots = new Uint32Array(1024);
    this.roots = new Uint8Array(1024);
    this.readings = new Map(); // by slot: of every reading that took much of it, its number and the root
  }

  /** One reading more, of the next head or of the first head in the next step: roots from 0 to 255, by slot. */
  add(rootOf, first, end) {
    const reading = this.ends.length;
    for (let slot = first; slot < end; slot++) {
      const root = rootOf(slot);
      if (!root) continue;
      if (this.count === this.slots.length) [this.slots, this.roots] = [this.slots, this.roots].map(withRoom);
      this.slots[this.count] = slot;
      this.roots[this.count++] = root;
      if (weightOf(root) > FAINTEST_SHOWN) {
        if (!this.readings.has(slot)) this.readings.set(slot, []);
        this.readings.get(slot).push([reading, root]);
      }
    }
    this.ends.push(this.count);
  }

  /** Calls `take(slot, root)` for every memory in a reading. */
  each(step, head, take) {
    const reading = step * this.reads + head;
    if (step < 0 || reading >= this.ends.length) return;
    for (let at = reading ? this.ends[reading - 1] : 0; at < this.ends[reading]; at++) take(this.slots[at], this.roots[at]);
  }

  weight(step, head, wanted) {
    let found = 0;
    this.each(step, head, (slot, root) => {
      if (slot === wanted) found = weightOf(root);
    });
    return found;
  }

  /** The memories in the reading of a step, largest weight first, over all read heads. */
  read(step) {
    const found = [];
    for (let head = 0; head < this.reads; head++) {
      this.each(step, head, (slot, root) => {
        if (weightOf(root) > FAINTEST_SHOWN) found.push({ slot, head, weight: weightOf(root) });
      });
    }
    return found.sort((one, other) => other.weight - one.weight);
  }

  /** The steps from `first` on whose readings took much of a memory, largest weight first. */
  readersOf(slot, first) {
    const found = new Map();
    for (const [reading, root] of this.readings.get(slot) ?? []) {
      const step = Math.floor(reading / this.reads);
      if (step >= first) found.set(step, Math.max(found.get(step) ?? 0, weightOf(root)));
    }
    return [...found].map(([step, weight]) => ({ step, weight })).sort((one, other) => other.weight - one.weight);
  }
}

function weightOf(root) {
  return (root / 255) ** 2;
}

function rootOfWeight(weight) {
  return weight < FAINTEST ? 0 : Math.round(255 * Math.sqrt(Math.min(weight, 1)));
}

// A scene: what one machine did on one problem, recorded or computed in the page (live_scene.js). `known` is the number of
// steps and `written` the number of memories so far.

class Scene {
  /** `about` has the problem: steps, answer (where it begins), inputs and expected by their names; and the heads. */
  constructor(about) {
    Object.assign(this, about);
    this.heads = this.reads + this.writes;
    this.answerSize = this.steps - this.answer;
    this.text = this.answer === 0; // every step reads a word, writes, and guesses the next word
    this.given = this.text ? this.steps : this.answer; // the steps that read something
    this.firstRead = Math.max(0, this.answer - 1); // the reading that the first symbol is answered from
    this.weights = new ReadWeights(this.reads);
  }

  /** Where a head reads or writes in a step. Read heads come before write heads. */
  place(step, head) {
    const at = (step * this.heads + head) * 2;
    return [this.places[at], this.places[at + 1]];
  }

  address(slot) {
    return [this.addresses[2 * slot], this.addresses[2 * slot + 1]];
  }

  /** The memory that a read head was put on after its reading; -1 where it was not. */
  settledOn(step, head) {
    return this.settles ? this.settled[step * this.reads + head] : -1;
  }

  /** The weight of a memory in a reading. */
  weight(step, head, slot) {
    return this.weights.weight(step, head, slot);
  }

  /** The memories in the reading of a step, largest weight first, over all read heads. */
  read(step) {
    return this.weights.read(step);
  }

  /** The answer's symbols that were answered from readings of a memory, largest weight first. */
  readers(slot) {
    const found = this.weights.readersOf(slot, this.firstRead).map(({ step, weight }) => ({ step: step + 1, weight }));
    return found.filter(({ step }) => step < this.known);
  }

  /** The memory that the first write head wrote at a step; -1 where nothing was written. */
  slotOf(step) {
    const slot = this.firstSlot + step * this.writes;
    return step >= 0 && slot < this.slots ? slot : -1;
  }

  /** The step at which a memory was written; -1 for the one that was there from the start. */
  stepOf(slot) {
    return slot < this.firstSlot ? -1 : Math.floor((slot - this.firstSlot) / this.writes);
  }

  wrong(step) {
    return this.mistakes.has(step - this.answer);
  }

  /** What a memory holds, for people. */
  memoryName(slot) {
    const step = this.stepOf(slot);
    return step < 0 ? "the memory of the start" : `memory ${slot} ${quoted(this.inputs[step])}`;
  }
}

class RecordedScene extends Scene {
  /** `spaces` are the key spaces of the page: a scene names its own by number. */
  constructor(packed, spaces, buffer) {
    super(packed);
    this.space = packed.space === null ? null : spaces[packed.space];
    this.mistakes = new Set(packed.mistakes); // places in the answer
    this.known = this.steps;
    this.written = this.slots;
    let at = 0;
    const take = (kind, count) => {
      const array = new kind(buffer, at, count);
      at += array.byteLength;
      return array;
    };
    // In the order in which lantm.report.pages.packed_recording lays them down: wide numbers first.
    this.places = take(Float32Array, this.steps * this.heads * 2);
    this.addresses = take(Float32Array, this.slots * 2);
    this.settled = this.settles ? take(Int32Array, this.steps * this.reads) : null;
    this.gates = take(Uint8Array, this.steps * this.heads * 2);
    this.strengths = take(Uint8Array, this.slots);
    const roots = take(Uint8Array, this.steps * this.reads * this.slots);
    for (let from = 0; from < roots.length; from += this.slots) this.weights.add((slot) => roots[from + slot], 0, this.slots);
  }

  /** A gate from 0 to 1; kind 0 is the key's, 1 the action's. */
  gate(step, head, kind) {
    return this.gates[(step * this.heads + head) * 2 + kind] / 255;
  }

  strength(slot) {
    return this.strengths[slot] / 255;
  }

  /** Everything is there. */
  reach() {}
}

/** A symbol as a cell shows it: white space is made visible. */
function visible(symbol) {
  return symbol.replace(/ /g, "␣").replace(/\n/g, "⏎").replace(/\t/g, "⇥");
}

function quoted(symbol) {
  return `“${visible(symbol)}”`;
}

// Unpacked once each: scrubbing through training comes back to the same scenes.
const recordedScenes = new Map();

function recordedScene(packed, spaces) {
  if (!recordedScenes.has(packed)) {
    recordedScenes.set(packed, inflated(packed.data).then((buffer) => new RecordedScene(packed, spaces, buffer)));
  }
  return recordedScenes.get(packed);
}

// A scene: one problem run by one machine, unpacked from the page's data.

/** The bytes of a text in base64 that holds a zlib stream. */
async function inflated(text) {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}

class Scene {
  /** `spaces` are the key spaces of the page: a scene names its own by number. */
  constructor(packed, spaces, buffer) {
    Object.assign(this, packed);
    this.space = packed.space === null ? null : spaces[packed.space];
    this.heads = this.reads + this.writes;
    this.answerSize = this.steps - this.answer;
    this.text = this.answer === 0; // every step reads a word, writes, and guesses the next word
    this.given = this.text ? this.steps : this.answer; // the steps that read something
    this.firstRead = Math.max(0, this.answer - 1); // the reading that the first symbol is answered from
    this.mistakes = new Set(packed.mistakes); // places in the answer
    let at = 0;
    const take = (kind, count) => {
      const array = new kind(buffer, at, count);
      at += array.byteLength;
      return array;
    };
    // In the order in which lantm.report.pages.packing lays them down: wide numbers first.
    this.places = take(Float32Array, this.steps * this.heads * 2);
    this.addresses = take(Float32Array, this.slots * 2);
    this.settled = this.settles ? take(Int32Array, this.steps * this.reads) : null;
    this.gates = take(Uint8Array, this.steps * this.heads * 2);
    this.strengths = take(Uint8Array, this.slots);
    this.weights = take(Uint8Array, this.steps * this.reads * this.slots);
  }

  /** Where a head reads or writes in a step. Read heads come before write heads. */
  place(step, head) {
    const at = (step * this.heads + head) * 2;
    return [this.places[at], this.places[at + 1]];
  }

  address(slot) {
    return [this.addresses[2 * slot], this.addresses[2 * slot + 1]];
  }

  /** A gate from 0 to 1; kind 0 is the key's, 1 the step's. */
  gate(step, head, kind) {
    return this.gates[(step * this.heads + head) * 2 + kind] / 255;
  }

  /** The memory that a read head was put on after its reading; -1 where it was not. */
  settledOn(step, head) {
    return this.settles ? this.settled[step * this.reads + head] : -1;
  }

  strength(slot) {
    return this.strengths[slot] / 255;
  }

  /** The weight of a memory in a reading; square roots are stored, so that faint weights keep some digits. */
  weight(step, head, slot) {
    const root = this.weights[(step * this.reads + head) * this.slots + slot] / 255;
    return root * root;
  }

  /** The memories in the reading of a step, largest weight first, over all read heads. */
  read(step) {
    const found = [];
    for (let slot = 0; step >= 0 && slot < this.slots; slot++) {
      for (let head = 0; head < this.reads; head++) {
        const weight = this.weight(step, head, slot);
        if (weight > 0.005) found.push({ slot, head, weight });
      }
    }
    return found.sort((one, other) => other.weight - one.weight);
  }

  /** The answer's symbols that were answered from readings of a memory, largest weight first. */
  readers(slot) {
    const found = [];
    for (let step = this.firstRead + 1; step < this.steps; step++) {
      let weight = 0;
      for (let head = 0; head < this.reads; head++) weight = Math.max(weight, this.weight(step - 1, head, slot));
      if (weight > 0.005) found.push({ step, weight });
    }
    return found.sort((one, other) => other.weight - one.weight);
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

/** A symbol as a cell shows it: white space is made visible. */
function visible(symbol) {
  return symbol.replace(/ /g, "␣").replace(/\n/g, "⏎").replace(/\t/g, "⇥");
}

function quoted(symbol) {
  return `“${visible(symbol)}”`;
}

// Unpacked once each: scrubbing through training comes back to the same scenes.
const scenes = new Map();

function sceneOf(packed, spaces) {
  if (!scenes.has(packed)) scenes.set(packed, inflated(packed.data).then((buffer) => new Scene(packed, spaces, buffer)));
  return scenes.get(packed);
}

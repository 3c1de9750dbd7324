// A scene that the page computes step by step by running the machine.

class LiveScene extends Scene {
  /** `task` names the symbols; `meddling` is what somebody does to the machine (engine/lantm.js). */
  constructor(machine, spec, task, { inputs, expected }, meddling) {
    const work = new Work(machine, inputs, expected, meddling);
    const named = (symbols) => symbols.map((symbol) => task.symbols[symbol]);
    const writing = inputs.filter((_, step) => work.writesIn(step)).length;
    const firstSlot = work.state.memory ? work.state.memory.end : 0;
    super({
      steps: inputs.length,
      answer: work.answer,
      inputs: named(inputs),
      expected: named(expected),
      reads: machine.reads,
      writes: machine.writes,
      firstSlot,
      slots: firstSlot + machine.writes * writing,
      settles: machine.heads > 0 && (meddling.settle ?? machine.config.settle_reads),
      weighed: true,
      space: machine.heads ? spaceOf(spec.geometry, machine.geometry) : null,
    });
    Object.assign(this, { live: true, work, task, known: 0, written: 0, predicted: [], mistakes: new Set() });
    this.firstMistake = null;
    this.places = new Float32Array(this.steps * this.heads * 2);
    this.addresses = new Float32Array(this.slots * 2);
    this.gates = new Float32Array(this.steps * this.heads * 2);
    this.settled = new Int32Array(this.steps * this.reads);
    this.keys = []; // of every step, of every head
    this.placeMemories();
  }

  get done() {
    return this.work.done;
  }

  /** Whether there is something to draw: some spaces are looked at in a way that depends on all keys. */
  get ready() {
    return this.done || !this.heads || !this.space.whole;
  }

  gate(step, head, kind) {
    return this.gates[(step * this.heads + head) * 2 + kind];
  }

  strength(slot) {
    return this.work.state.memory.strengths[slot];
  }

  /** Works for some milliseconds. */
  advance(milliseconds) {
    const until = performance.now() + milliseconds;
    while (!this.done && performance.now() < until) this.step();
  }

  /** Works until a step is known. */
  reach(step) {
    while (this.known <= Math.min(step, this.steps - 1)) this.step();
  }

  step() {
    const step = this.known;
    const happened = this.work.step();
    this.known++;
    if (step >= this.answer) this.judge(step - this.answer, largestAt(happened.logits));
    if (!this.heads) return;
    this.keys.push(happened.keys);
    for (let head = 0; head < this.heads; head++) {
      this.gates.set([happened.keyGates[head], happened.actionGates[head]], (step * this.heads + head) * 2);
      this.places.set(this.space.place(happened.keys[head], step), (step * this.heads + head) * 2);
    }
    this.settled.set(happened.settledOn, step * this.reads);
    for (const weights of happened.weights) this.weights.add((slot) => rootOfWeight(weights[slot]), 0, weights.length);
    this.placeMemories();
    if (this.done && this.space.whole) this.look();
  }

  judge(place, symbol) {
    this.predicted.push(this.task.symbols[symbol]);
    if (symbol === this.work.expected[place]) return;
    this.mistakes.add(place);
    this.firstMistake ??= place;
  }

  placeMemories() {
    const { memory } = this.work.state;
    for (; memory && this.written < memory.end; this.written++) {
      this.addresses.set(this.space.place(addressOf(memory, this.written), this.stepOf(this.written)), 2 * this.written);
    }
  }

  /** All keys are known: they are placed again. */
  look() {
    const { memory } = this.work.state;
    const addresses = Array.from({ length: this.written }, (_, slot) => addressOf(memory, slot));
    this.space = this.space.look([...this.keys.flat(), ...addresses]);
    this.keys.forEach((keys, step) => {
      keys.forEach((key, head) => this.places.set(this.space.place(key), (step * this.heads + head) * 2));
    });
    addresses.forEach((address, slot) => this.addresses.set(this.space.place(address), 2 * slot));
  }

  /** The key of a head in a step if it were dragged to a place. */
  keyAt(step, head, place) {
    return Array.from(this.space.moved([...this.keys[step][head]], place));
  }
}

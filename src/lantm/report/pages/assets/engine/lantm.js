// One step of the Lie access machine (head moves, writes, memory reads), as lantm.machine.access and by_loops for one
// problem.

const INITIAL_STRENGTH_BIAS = -10;

/**
 * What somebody does to a machine while it runs; nothing by default.
 * - settle: whether read heads settle; null leaves it to the machine
 * - gates: a list per head, [key gate, action gate], each a number to hold it at, or null
 * - pushes: { step, head, key }: there the head stands after it has moved
 */
const UNTOUCHED = { settle: null, gates: [], pushes: [] };

class LantmMachine {
  constructor(config, arrays, geometry, weighting, Floats) {
    Object.assign(this, { config, arrays, geometry, weighting, Floats });
    this.reads = config.read_heads;
    this.writes = config.write_heads;
    this.heads = this.reads + this.writes;
    this.cells = config.cells;
    this.shares = new Map(); // of the preactivation, by symbol
    const round = Floats === Float32Array ? Math.fround : (value) => value;
    this.rounded = (numbers) => numbers.map(round);
    this.squash = config.squash_vectors === "tanh" ? Math.tanh : sigmoid;
  }

  /** The learnable start; the memory in it is written to by `step`. */
  begin() {
    const { config, arrays, geometry, rounded, Floats } = this;
    const rows = (array, size) => Array.from({ length: this.heads }, (_, head) => rowOf(array, head, size));
    const memory = new Memory(geometry.keySize, config, Floats);
    if (config.initial_slot) {
      const address = geometry.key([...arrays["layer.start.slot.key"]]);
      const strength = sigmoid(arrays["layer.start.slot.strength"][0] + INITIAL_STRENGTH_BIAS);
      memory.write(address, Array.from(arrays["layer.start.slot.vector"], this.squash), strength);
      memory.forget();
    }
    return {
      step: 0,
      hidden: arrays["layer.controller.start.hidden"],
      cell: arrays["layer.controller.start.cell"],
      reading: Floats.from(arrays["layer.start.reading"], Math.tanh),
      keys: rows(arrays["layer.start.keys"], geometry.rawKeySize).map((raw) => rounded(geometry.key(raw))),
      actions: rows(arrays["layer.start.steps"], geometry.rawActionSize).map((raw) => rounded(geometry.action(raw))),
      memory,
    };
  }

  /** The next state and what happened: `writing` says whether the step writes. */
  step(state, symbol, writing, meddling = UNTOUCHED) {
    const { arrays } = this;
    const sums = Float64Array.from(this.share(symbol));
    addProduct(sums, state.reading, arrays["layer.controller.recurrent"]);
    addProduct(sums, state.hidden, arrays["layer.controller.recurrent"], state.reading.length);
    const { hidden, cell } = lstmStep(sums, state.cell, this.config, this.Floats);
    const told = this.understand(linear(hidden, arrays["layer.heads.weight"], arrays["layer.heads.bias"]));
    this.hold(told, meddling);
    const { keys, actions } = this.move(told, state);
    for (const { step, head, key } of meddling.pushes) if (step === state.step) keys[head] = this.rounded(key);
    const { memory } = state;
    const seen = { first: memory.first, end: memory.end };
    if (writing) {
      for (let head = 0; head < this.writes; head++) {
        memory.write(keys[this.reads + head], told.vectors[head], told.strengths[head]);
      }
      memory.forget();
    }
    if (this.config.read_sees_write) Object.assign(seen, { first: memory.first, end: memory.end });
    const { reading, weights, settledOn } = this.read(keys, told, memory, seen, meddling);
    const ended = keys.map((key, head) => (settledOn[head] >= 0 ? addressOf(memory, settledOn[head]) : key));
    return {
      state: { step: state.step + 1, hidden, cell, reading, keys: ended, actions, memory },
      happened: { keys, ...told, weights, settledOn, logits: this.readout(hidden) },
    };
  }

  /** The symbol's share of the controller's preactivation, with the bias. */
  share(symbol) {
    if (!this.shares.has(symbol)) {
      const { arrays, config } = this;
      const embedded = rowOf(arrays.embedding, symbol, config.embedding);
      const [weight, bias] = [arrays["layer.controller.inputs.weight"], arrays["layer.controller.inputs.bias"]];
      this.shares.set(symbol, this.Floats.from(linear(embedded, weight, bias)));
    }
    return this.shares.get(symbol);
  }

  readout(hidden) {
    return linear(hidden, this.arrays["readout.weight"], this.arrays["readout.bias"]);
  }

  /** What the controller's numbers mean for the heads (`Access.understand`). */
  understand(raw) {
    const { config, geometry, reads, writes, heads, rounded } = this;
    let at = 0;
    const take = (count, size) => Array.from({ length: count }, () => Array.from(raw.subarray(at, (at += size))));
    const keys = take(heads, geometry.rawKeySize);
    const [keyGates] = take(1, heads);
    const steps = take(heads, geometry.rawActionSize);
    const [actionGates] = take(1, heads);
    const vectors = take(writes, config.memory_width);
    const [strengths] = take(1, writes);
    const [temperatures] = take(1, this.weighting.emitsTemperature ? reads : 0);
    const bias = config.write_gate_bias;
    const gates = (raw, biased) => rounded(raw.map((value, head) => opened(value + (biased(head) ? bias : 0), config.gate_overshoot)));
    return {
      candidates: keys.map((key) => rounded(geometry.key(key))),
      keyGates: gates(keyGates, (head) => head >= reads || head < config.tied_read_heads),
      steps: steps.map((step) => rounded(geometry.action(config.normalise_steps ? normalised(step) : step))),
      actionGates: gates(actionGates, (head) => head >= reads),
      vectors: vectors.map((vector) => vector.map(this.squash)),
      strengths: strengths.map(sigmoid),
      temperatures: temperatures.map(softplus),
    };
  }

  /** Gates that somebody holds. */
  hold(told, { gates }) {
    for (const [head, [key, action]] of gates.entries()) {
      told.keyGates[head] = key ?? told.keyGates[head];
      told.actionGates[head] = action ?? told.actionGates[head];
    }
  }

  move(told, state) {
    const { config, geometry, rounded } = this;
    const actions = told.steps.map((step, head) => {
      if (!config.interpolate_actions || (!config.interpolate_read_actions && head < this.reads)) return step;
      return rounded(geometry.mixActions(told.actionGates[head], step, state.actions[head]));
    });
    const keys = told.candidates.map((candidate, head) => {
      const from = rounded(geometry.mixKeys(told.keyGates[head], candidate, state.keys[head]));
      return rounded(geometry.act(actions[head], from));
    });
    return { keys, actions };
  }

  read(keys, told, memory, seen, meddling) {
    const { geometry, weighting, reads } = this;
    const width = this.config.memory_width;
    const reading = new this.Floats(reads * width);
    const [weights, settledOn] = [[], []];
    const settles = meddling.settle ?? this.config.settle_reads;
    // Of what a step forgets, its own reading still sees all; distances begin with the older of the two windows.
    const from = Math.min(seen.first, memory.first);
    for (let head = 0; head < reads; head++) {
      const distances = memory.distances(geometry.distance, keys[head], from);
      weights.push(weigh(weighting, distances, memory.strengths, seen.first, seen.end, told.temperatures[head]));
      reading.set(memory.reading(weights[head], seen.first, seen.end), head * width);
      settledOn.push(settles ? settledSlot(distances, memory.first, memory.end) : -1);
    }
    return { reading, weights, settledOn };
  }
}

function rowOf(array, row, size) {
  return Array.from(array.subarray(row * size, (row + 1) * size));
}

function addressOf({ addresses, keySize }, slot) {
  return rowOf(addresses, slot, keySize);
}

/** A step of length about 1. */
function normalised(step) {
  const length = Math.sqrt(squaredNorm(step) + 1e-6);
  return step.map((value) => value / length);
}

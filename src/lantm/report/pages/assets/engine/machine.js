// Unpacks a machine from the page's data: settings and weights, as packed by lantm.report.pages.weights.

/** Floats from their bytes, of which all first ones come first, then all second ones: so they compress better. */
function joinedBytes(buffer) {
  const [planes, count] = [new Uint8Array(buffer), buffer.byteLength / 4];
  const bytes = new Uint8Array(buffer.byteLength);
  for (let plane = 0; plane < 4; plane++) {
    for (let at = 0; at < count; at++) bytes[4 * at + plane] = planes[plane * count + at];
  }
  return new Float32Array(bytes.buffer);
}

/** The machine; what it keeps from step to step is in `Floats`, single precision as in Python unless asked otherwise. */
async function unpackedMachine({ model, config, geometry, weighting, arrays, data }, Floats = Float32Array) {
  const whole = joinedBytes(await inflated(data));
  const named = {};
  let at = 0;
  for (const [name, shape] of arrays) {
    const size = shape.reduce((product, length) => product * length, 1);
    named[name] = whole.subarray(at, (at += size));
  }
  if (model === "lstm") return new LstmMachine(config, named, Floats);
  const weigher = { ...WEIGHTINGS[weighting.name](weighting), renormalise: weighting.renormalise };
  return new LantmMachine(config, named, GEOMETRIES[geometry.name](geometry), weigher, Floats);
}

/**
 * A problem as one machine works on it. `inputs` and `expected` are symbols; the answer begins where they end together.
 * A step writes until the answer begins, and once more with `write_end`; of a text, which answers from the first step
 * on, every step writes.
 */
class Work {
  constructor(machine, inputs, expected, meddling = UNTOUCHED) {
    Object.assign(this, { machine, inputs, expected, meddling });
    this.answer = inputs.length - expected.length;
    this.state = machine.begin();
  }

  get done() {
    return this.state.step === this.inputs.length;
  }

  writesIn(step) {
    const given = this.answer || this.inputs.length;
    return step < given + (this.machine.config.write_end ? 1 : 0);
  }

  /** Takes a step, and tells what happened in it. */
  step() {
    const { step } = this.state;
    const { state, happened } = this.machine.step(this.state, this.inputs[step], this.writesIn(step), this.meddling);
    this.state = state;
    return happened;
  }
}

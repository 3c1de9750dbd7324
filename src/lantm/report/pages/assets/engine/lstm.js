// The baseline: a stack of LSTM layers without a memory (lantm.machine.lstm).

const PLAIN_CELLS = { cell_bound: null, controller_overshoot: 0, settle_cells: 0 };

class LstmMachine {
  constructor(config, arrays, Floats) {
    Object.assign(this, { config, arrays, Floats, reads: 0, writes: 0, heads: 0, geometry: null });
  }

  begin() {
    const { config, arrays } = this;
    const layers = (name) => Array.from({ length: config.layers }, (_, layer) => rowOf(arrays[name], layer, config.cells));
    return { step: 0, hidden: layers("start.hidden"), cell: layers("start.cell"), memory: null };
  }

  step(state, symbol) {
    const { config, arrays } = this;
    let below = rowOf(arrays.embedding, symbol, config.embedding);
    const [hidden, cell] = [[], []];
    for (let layer = 0; layer < config.layers; layer++) {
      const of = (name) => arrays[`layers.${layer}.${name}`];
      const sums = linear(below, of("inputs.weight"), of("inputs.bias"));
      addProduct(sums, state.hidden[layer], of("recurrent"));
      const next = lstmStep(sums, state.cell[layer], PLAIN_CELLS, this.Floats);
      hidden.push(next.hidden);
      cell.push(next.cell);
      below = next.hidden;
    }
    const logits = linear(below, arrays["readout.weight"], arrays["readout.bias"]);
    return { state: { step: state.step + 1, hidden, cell, memory: null }, happened: { logits } };
  }
}

// One step of an LSTM (lantm.machine.controller): input gate, forget gate, output gate, candidate side by side.

/** `kind` has the controller's switches: cell_bound, controller_overshoot, settle_cells. */
function lstmStep(preactivation, cell, kind, Floats) {
  const cells = cell.length;
  const [hidden, next] = [new Floats(cells), new Floats(cells)];
  for (let at = 0; at < cells; at++) {
    const gate = (part) => opened(preactivation[part * cells + at], kind.controller_overshoot);
    const candidate = Math.tanh(preactivation[3 * cells + at]);
    next[at] = settledCell(boundedCell(gate(1) * cell[at] + gate(0) * candidate, kind), kind);
    hidden[at] = gate(2) * Math.tanh(next[at]);
  }
  return { hidden, cell: next };
}

function boundedCell(cell, { cell_bound: bound }) {
  return bound === null ? cell : Math.min(bound, Math.max(-bound, cell));
}

/** The cell, moved to the nearest of - bound, 0 and + bound by as much as it may. */
function settledCell(cell, { cell_bound: bound, settle_cells: most }) {
  if (bound === null || !most) return cell;
  const nearest = cell > bound / 2 ? bound : cell < -bound / 2 ? -bound : 0;
  return Math.abs(nearest - cell) < most ? nearest : cell + Math.sign(nearest - cell) * most;
}

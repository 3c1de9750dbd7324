// Vector arithmetic of the machines. State kept from step to step is in single precision, as in Python; sums and formulas
// in between are in double precision, so they are at least as exact as Python's.

function sigmoid(x) {
  return 1 / (1 + Math.exp(-x));
}

function softplus(x) {
  return Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x)));
}

/** How far a gate is open: a sigmoid, stretched by the overshoot at both ends and cut off at 0 and 1. */
function opened(raw, overshoot) {
  return overshoot ? Math.min(1, Math.max(0, (1 + 2 * overshoot) * sigmoid(raw) - overshoot)) : sigmoid(raw);
}

/** The line from `previous` (gate 0) to `candidate` (gate 1); a closed or open gate gives exactly one of the two. */
function interpolate(gate, candidate, previous) {
  return candidate.map((value, at) => gate * value + (1 - gate) * previous[at]);
}

function squaredNorm(vector) {
  let total = 0;
  for (const value of vector) total += value * value;
  return total;
}

/** Adds vector * matrix to `sums`; the matrix has a row for every input. */
function addProduct(sums, vector, matrix, firstRow = 0) {
  const columns = sums.length;
  for (let row = 0; row < vector.length; row++) {
    const value = vector[row];
    const from = (firstRow + row) * columns;
    for (let column = 0; column < columns; column++) sums[column] += value * matrix[from + column];
  }
}

/** A linear layer: vector * weight + bias. */
function linear(vector, weight, bias) {
  const sums = Float64Array.from(bias);
  addProduct(sums, vector, weight);
  return sums;
}

/** The place of the largest number; of equal ones, the first. */
function largestAt(numbers) {
  let best = 0;
  for (let at = 1; at < numbers.length; at++) if (numbers[at] > numbers[best]) best = at;
  return best;
}

/** The same numbers in an array with room for as many more. */
function withRoom(array) {
  const made = new array.constructor(2 * array.length);
  made.set(array);
  return made;
}

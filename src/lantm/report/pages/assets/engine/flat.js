// Flat key spaces R^n: one function per geometry of the same name in lantm.geometry. Keys are arrays; `distance` takes an
// address from the memory, at an offset. `place` is where a key is drawn, and `moved` the key nearest to a given one that
// is drawn at a place.

const times = ([a, b], [x, y]) => [a * x - b * y, a * y + b * x];
const conjugate = ([a, b]) => [a, -b];
const clipped = (most) => (value) => Math.min(most, Math.max(-most, value));

function euclideanDistance(key, addresses, at) {
  let total = 0;
  for (let component = 0; component < key.length; component++) {
    const difference = key[component] - addresses[at + component];
    total += difference * difference;
  }
  return total;
}

/** The vector scaled to unit norm; one that is too short to have a direction is added to the fallback. */
function project(vector, fallback) {
  const long = squaredNorm(vector) < 1e-12 ? vector.map((value, at) => value + fallback[at]) : vector;
  const norm = Math.sqrt(squaredNorm(long));
  return long.map((value) => value / norm);
}

/** What all key spaces R^n share. */
function euclidean(size) {
  return {
    keySize: size,
    rawKeySize: size,
    key: (raw) => raw,
    mixKeys: interpolate,
    distance: euclideanDistance,
    place: (key) => [key[0], size > 1 ? key[1] : 0],
    moved: (key, [x, y]) => (size === 1 ? [y] : [x, y, ...key.slice(2)]),
  };
}

function translation({ dimension }) {
  return {
    ...euclidean(dimension),
    actionSize: dimension,
    rawActionSize: dimension,
    action: (raw) => raw,
    act: (action, key) => key.map((value, at) => value + action[at]),
    mixActions: interpolate,
  };
}

function rotation() {
  return {
    ...euclidean(2),
    actionSize: 2,
    rawActionSize: 2,
    action: (raw) => project(raw, [1, 0]),
    act: times,
    mixActions: (gate, candidate, previous) => project(interpolate(gate, candidate, previous), previous),
  };
}

function scalingRotation() {
  return {
    ...euclidean(2),
    actionSize: 2,
    rawActionSize: 2,
    action: ([a, b]) => (a * a + b * b < 1e-12 ? [a + 2e-6, b] : [a, b]),
    act: (action, key) => times(action, key).map(clipped(1e18)),
    mixActions: interpolate,
  };
}

// The memory: append-only slots with an optional limit (lantm.machine.memory), the weighted sum of a read, and settling
// (lantm.machine.settling).

class Memory {
  /** Without a limit nothing is forgotten; with one, a full memory loses its oldest slots. */
  constructor(keySize, { memory_width: width, memory_limit: limit, memory_drop: drop }, Floats) {
    Object.assign(this, { keySize, width, limit, drop });
    this.first = 0;
    this.end = 0;
    this.room = 64;
    this.addresses = new Floats(this.room * keySize);
    this.vectors = new Floats(this.room * width);
    this.strengths = new Floats(this.room);
  }

  write(address, vector, strength) {
    if (this.end === this.room) this.grow();
    this.addresses.set(address, this.end * this.keySize);
    this.vectors.set(vector, this.end * this.width);
    this.strengths[this.end] = strength;
    this.end++;
  }

  grow() {
    this.room *= 2;
    [this.addresses, this.vectors, this.strengths] = [this.addresses, this.vectors, this.strengths].map(withRoom);
  }

  /** What is remembered of what has been written, after a step. */
  forget() {
    if (this.limit === null) return;
    while (this.end - this.first >= this.limit) this.first += this.drop;
  }

  /** The squared distances of a key to all slots from `first` on. */
  distances(distance, key, first) {
    const found = new Float64Array(this.end);
    for (let slot = first; slot < this.end; slot++) {
      found[slot] = distance(key, this.addresses, slot * this.keySize);
    }
    return found;
  }

  reading(weights, first, end) {
    const { width, vectors } = this;
    const sums = new Float64Array(width);
    for (let slot = first; slot < end; slot++) {
      const weight = weights[slot];
      for (let at = 0; at < width; at++) sums[at] += weight * vectors[slot * width + at];
    }
    return sums;
  }
}

/** The slot that is less than a third as far away as every other; -1 if there is none, or no other. */
function settledSlot(distances, first, end) {
  let [nearest, one, other] = [-1, Infinity, Infinity];
  for (let slot = first; slot < end; slot++) {
    const distance = distances[slot];
    if (distance < one) [nearest, other, one] = [slot, one, distance];
    else if (distance < other) other = distance;
  }
  return 9 * one < other && other < Infinity ? nearest : -1;
}

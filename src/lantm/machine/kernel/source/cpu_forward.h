// CPU: the forward pass of the recurrence, for several problems of a run side by side.

// A memory vector in registers.
struct Vector {
  typedef real Eight __attribute__((vector_size(8 * sizeof(real)), aligned(sizeof(real)), may_alias));
  typedef real Four __attribute__((vector_size(4 * sizeof(real)), aligned(sizeof(real)), may_alias));
  enum { EIGHTS = WIDTH / 8, FOURS = WIDTH / 4 % 2, ONES = WIDTH % 4, AT_FOUR = 8 * EIGHTS, AT_ONES = WIDTH - ONES };
  Eight eights[EIGHTS ? EIGHTS : 1] = {};
  Four four = {};
  real ones[ONES ? ONES : 1] = {};

  Vector() {}
  explicit Vector(const real* from) { add_scaled(1, from); }

  inline void add_scaled(real weight, const real* vector) {
    for (int i = 0; i < EIGHTS; i++) eights[i] += weight * ((const Eight*)vector)[i];
    if (FOURS) four += weight * *(const Four*)(vector + AT_FOUR);
    for (int i = 0; i < ONES; i++) ones[i] += weight * vector[AT_ONES + i];
  }
  inline void add_scaled_to(real* vector, real weight) const {
    for (int i = 0; i < EIGHTS; i++) ((Eight*)vector)[i] += weight * eights[i];
    if (FOURS) *(Four*)(vector + AT_FOUR) += weight * four;
    for (int i = 0; i < ONES; i++) vector[AT_ONES + i] += weight * ones[i];
  }
  inline real times(const real* vector) const {
    Eight sums = {};
    for (int i = 0; i < EIGHTS; i++) sums += eights[i] * ((const Eight*)vector)[i];
    Four fours = {sums[0] + sums[4], sums[1] + sums[5], sums[2] + sums[6], sums[3] + sums[7]};
    if (FOURS) fours += four * *(const Four*)(vector + AT_FOUR);
    real total = (fours[0] + fours[2]) + (fours[1] + fours[3]);
    for (int i = 0; i < ONES; i++) total += ones[i] * vector[AT_ONES + i];
    return total;
  }
  inline void put(real* to, real divisor) const {
    for (int i = 0; i < EIGHTS; i++) ((Eight*)to)[i] = eights[i] / divisor;
    if (FOURS) *(Four*)(to + AT_FOUR) = four / divisor;
    for (int i = 0; i < ONES; i++) to[AT_ONES + i] = ones[i] / divisor;
  }
};

// The memories of a problem, in the arrays `which`, `which` + 1, ...
struct Memories {
  real *addresses, *vectors, *strengths;

  Memories(const Run& run, int which, int problem) {
    long first = ((long)run.index * run.arrays.batch + problem) * run.arrays.slots;
    addresses = (real*)run.arrays.at[which] + first * KEY;
    vectors = (real*)run.arrays.at[which + 1] + first * WIDTH;
    strengths = (real*)run.arrays.at[which + 2] + first;
  }
  real* address(int slot) const { return addresses + (long)slot * KEY; }
  real* vector(int slot) const { return vectors + (long)slot * WIDTH; }
};

// What reads of one problem need room for: a number for every memory.
struct Reads {
  std::vector<real> distances, weights;
  explicit Reads(int slots) : distances(slots), weights(slots) {}
};

inline Nearest nearest_of(const real* distances, Window window, int end) {
  Nearest found = {INFINITY, INFINITY, 0};
  for (int s = window.first; s < end; s++) {
    real distance = distances[s];
    bool closer = distance < found.first;
    found.second = closer ? found.first : smaller(found.second, distance);
    found.slot = closer ? s : found.slot;
    found.first = closer ? distance : found.first;
  }
  return found;
}

// A read head's reading, and what the backward pass asks of it; its key settles.
inline void read(Reads& reads, const Memories& memory, Window seen, Window left, int limit, real* key, real warmth, real* reading,
                 real* total_weight, real* nearest) {
  const int end = std::min(seen.end, limit), left_end = std::min(left.end, limit);
  const real* __restrict addresses = memory.addresses;
  const real* __restrict strengths = memory.strengths;
  real* __restrict distances = reads.distances.data();
  real* __restrict weights = reads.weights.data();
  real place[KEY], total = 0, least = LARGEST;
  for (int d = 0; d < KEY; d++) place[d] = key[d];
  const int last = SETTLE_READS ? std::max(end, left_end) : end;
  VECTORISED
  for (int s = std::min(seen.first, left.first); s < last; s++) distances[s] = squared_distance(place, addresses + (long)s * KEY);
#if ASKS_FOR_NEAREST
#pragma omp simd reduction(min : least)
  for (int s = seen.first; s < end; s++) least = smaller(least, distances[s]);
#endif
#pragma omp simd reduction(+ : total)
  for (int s = seen.first; s < end; s++) {
    real counted, weight;
    count(distances[s], strengths[s], warmth, least, &counted, &weight);
    total += counted;
    weights[s] = weight;
  }
  Vector sum;
  for (int s = seen.first; s < end; s++) sum.add_scaled(weights[s], memory.vector(s));
  total = larger(total, TINY);
  sum.put(reading, total);
  *total_weight = total;
  *nearest = least;
#if SETTLE_READS
  Nearest near = nearest_of(distances, left, left_end);
  for (int d = 0; d < KEY && settles(near); d++) key[d] = memory.address(near.slot)[d];
#endif
}

// The cells of one problem: from what the gates are given to the gates, the new cells and the hidden state.
inline void control(const real* __restrict given, const real* __restrict product, const real* __restrict before,
                    real* __restrict gates, real* __restrict after, real* __restrict hidden) {
  in_vectors<CELLS>([=](int at) {
    real in = open_gate(given[at] + product[at]);
    real forget = open_gate(given[CELLS + at] + product[CELLS + at]);
    real open = open_gate(given[2 * CELLS + at] + product[2 * CELLS + at]);
    real candidate = tanh(given[3 * CELLS + at] + product[3 * CELLS + at]);
    real cell = keep_cell(forget * before[at] + in * candidate);
    gates[at] = in;
    gates[CELLS + at] = forget;
    gates[2 * CELLS + at] = open;
    gates[3 * CELLS + at] = candidate;
    after[at] = cell;
    hidden[at] = open * tanh(cell);
  });
}

static void forward(const Arrays& arrays, int which_run, int begin, int count) {
  FORWARD_ARRAYS;
  const Run run(arrays, which_run);
  const int time = arrays.time, rows = in_tiles(count);
  const Matrix recurrent(run.share(RECURRENT, (long)JOINED * GATES), JOINED, GATES);
  const Matrix heads(run.share(HEAD_WEIGHTS, (long)CELLS * EMISSION), CELLS, EMISSION);
  const real* biases = run.share(HEAD_BIASES, EMISSION);
  std::vector<real> joined(rows * JOINED), product(rows * in_lanes(GATES)), emissions(rows * in_lanes(EMISSION));
  Reads reads(arrays.slots);

  // What there was before the first step.
  auto begin_with = [&](int from, int saved, int size) {
    memcpy(run.row(saved, time + 1, 0, size) + (long)begin * size, run.row(from, 1, 0, size) + (long)begin * size,
           (size_t)count * size * sizeof(real));
  };
  begin_with(START_READING, SAVED_READING, READING);
  begin_with(START_HIDDEN, SAVED_HIDDEN, CELLS);
  begin_with(START_CELL, SAVED_CELL, CELLS);
  begin_with(START_KEYS, SAVED_KEYS, HEADS * KEY);
  begin_with(START_ACTIONS, SAVED_ACTIONS, HEADS * ACTION);
  for (int r = 0; r < count; r++) {
    const long problem = begin + r;
    memcpy(&joined[r * JOINED], run.row(START_READING, 1, 0, READING) + problem * READING, READING * sizeof(real));
    memcpy(&joined[r * JOINED + READING], run.row(START_HIDDEN, 1, 0, CELLS) + problem * CELLS, CELLS * sizeof(real));
    const Memories from(run, OLD_ADDRESSES, problem), to(run, ADDRESSES, problem);
    memcpy(to.addresses, from.addresses, (size_t)arrays.slots * KEY * sizeof(real));
    memcpy(to.vectors, from.vectors, (size_t)arrays.slots * WIDTH * sizeof(real));
    memcpy(to.strengths, from.strengths, (size_t)arrays.slots * sizeof(real));
  }

  for (int t = 0; t < run.steps; t++) {
    const Window seen = run.seen(t), left = run.left(t);
    const bool writing = run.writes(t);
    auto of = [&](int which, int times, int at, int size, long problem) { return run.row(which, times, at, size) + problem * size; };
    recurrent.multiply(joined.data(), JOINED, rows, product.data());
    for (int r = 0; r < count; r++) {
      const long problem = begin + r;
      real* hidden = &joined[r * JOINED + READING];
      control(of(INPUTS, time, t, GATES, problem), &product[r * in_lanes(GATES)], of(SAVED_CELL, time + 1, t, CELLS, problem),
              of(SAVED_GATES, time, t, GATES, problem), of(SAVED_CELL, time + 1, t + 1, CELLS, problem), hidden);
      memcpy(of(SAVED_HIDDEN, time + 1, t + 1, CELLS, problem), hidden, CELLS * sizeof(real));
    }
    heads.multiply(joined.data() + READING, JOINED, rows, emissions.data());
    for (int r = 0; r < count; r++) {
      const long problem = begin + r;
      const Memories memory(run, ADDRESSES, problem);
      real* __restrict emission = of(SAVED_EMISSIONS, time, t, EMISSION, problem);
      const real* __restrict from = &emissions[r * in_lanes(EMISSION)];
      for (int e = 0; e < EMISSION; e++) emission[e] = from[e] + biases[e];
      for (int head = 0; writing && head < WRITE_HEADS; head++) {
        real* __restrict vector = memory.vector(run.slot(t, head));
        const real* __restrict raw = emission + VECTORS_AT + head * WIDTH;
        in_vectors<WIDTH>([=](int i) { vector[i] = squash(raw[i]); });
      }
      const real* old_keys = of(SAVED_KEYS, time + 1, t, HEADS * KEY, problem);
      const real* old_actions = of(SAVED_ACTIONS, time + 1, t, HEADS * ACTION, problem);
      real* keys = of(SAVED_KEYS, time + 1, t + 1, HEADS * KEY, problem);
      real* actions = of(SAVED_ACTIONS, time + 1, t + 1, HEADS * ACTION, problem);
      real extras[HEADS];
      for (int head = 0; head < HEADS; head++)
        move_head(head, emission, old_keys + head * KEY, old_actions + head * ACTION, keys + head * KEY, actions + head * ACTION,
                  extras + head);
      for (int head = 0; writing && head < WRITE_HEADS; head++) {
        int slot = run.slot(t, head), which = READ_HEADS + head;
        for (int d = 0; d < KEY; d++) memory.address(slot)[d] = keys[which * KEY + d];
        memory.strengths[slot] = extras[which];
      }
      memcpy(of(SAVED_PLACES, time, t, READ_HEADS * KEY, problem), keys, READ_HEADS * KEY * sizeof(real));
      real* reading = of(SAVED_READING, time + 1, t + 1, READING, problem);
      for (int h = 0; h < READ_HEADS; h++)
        read(reads, memory, seen, left, run.limit(problem), keys + h * KEY, extras[h], reading + h * WIDTH,
             of(SAVED_TOTALS, time, t, READ_HEADS, problem) + h, of(SAVED_NEAREST, time, t, READ_HEADS, problem) + h);
      memcpy(&joined[r * JOINED], reading, READING * sizeof(real));
    }
  }
  // Afterwards nothing happens any more. Of other rows than those of hidden states nobody asks for these.
  for (int t = run.steps; t < time; t++)
    memset(run.row(SAVED_HIDDEN, time + 1, t + 1, CELLS) + (long)begin * CELLS, 0, (size_t)count * CELLS * sizeof(real));
}

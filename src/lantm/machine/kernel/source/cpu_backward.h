// CPU: the backward pass of the recurrence.

// What a read's backward pass needs room for: for every memory its weight, the cotangents of that weight and of the
// temperature, and, coordinate by coordinate, those of the key and of the address.
struct ReadsBack {
  int slots;
  std::vector<real> weights, gains, warmths, keys, addresses;
  explicit ReadsBack(int slots) : slots(slots), weights(slots), gains(slots), warmths(slots), keys(slots * KEY), addresses(slots * KEY) {}
};

inline real sum_of(const real* numbers, int begin, int end) {
  real total = 0;
#pragma omp simd reduction(+ : total)
  for (int i = begin; i < end; i++) total += numbers[i];
  return total;
}

// Back through a reading: to the memory, to the place that was read, and to its temperature.
inline void read_back(ReadsBack& room, const Memories& memory, const Memories& d_memory, Window seen, int limit, const real* place,
                      real warmth, real total, real nearest, const real* reading, const real* d_reading, real* d_place,
                      real* d_warmth) {
  const int end = std::min(seen.end, limit);
  const real* __restrict addresses = memory.addresses;
  const real* __restrict strengths = memory.strengths;
  real* __restrict d_strengths = d_memory.strengths;
  real* __restrict weights = room.weights.data();
  real* __restrict gains = room.gains.data();
  real* __restrict warmths = room.warmths.data();
  real* __restrict d_keys = room.keys.data();
  real* __restrict d_addresses = room.addresses.data();
  const Vector d_read(d_reading);
  const real gain = d_read.times(reading);
  const int slots = room.slots;
  real key[KEY];
  for (int d = 0; d < KEY; d++) key[d] = place[d];
  for (int s = seen.first; s < end; s++) gains[s] = d_read.times(memory.vector(s));
#pragma GCC ivdep
  for (int s = seen.first; s < end; s++) {
    real address[KEY], weight, d_distance, d_strength, d_temperature, d_this[KEY], d_address[KEY];
    for (int d = 0; d < KEY; d++) address[d] = addresses[(long)s * KEY + d];
    pull_weight(squared_distance(key, address), strengths[s], warmth, nearest, total, gains[s], gain, &weight, &d_distance,
                &d_strength, &d_temperature);
    pull_distance(key, address, d_distance, d_this, d_address);
    for (int d = 0; d < KEY; d++) d_keys[d * slots + s] = d_this[d];
    for (int d = 0; d < KEY; d++) d_addresses[d * slots + s] = d_address[d];
    d_strengths[s] += d_strength;
    warmths[s] = d_temperature;
    weights[s] = weight;
  }
  for (int s = seen.first; s < end; s++) {
    d_read.add_scaled_to(d_memory.vector(s), weights[s]);
    for (int d = 0; d < KEY; d++) d_memory.address(s)[d] += d_addresses[d * slots + s];
  }
  for (int d = 0; d < KEY; d++) d_place[d] += sum_of(d_keys + d * slots, seen.first, end);
  *d_warmth = sum_of(warmths, seen.first, end);
}

// Back through the cells of one problem.
inline void control_back(const real* __restrict gates, const real* __restrict before, const real* __restrict after,
                         const real* __restrict d_hidden, const real* __restrict through_heads, const real* __restrict cotangent,
                         const real* __restrict d_after, real* __restrict d_before, real* __restrict d_gates) {
  in_vectors<CELLS>([=](int at) {
    real in = gates[at], forget = gates[CELLS + at], open = gates[2 * CELLS + at], candidate = gates[3 * CELLS + at];
    real d_h = through_heads[at] + d_hidden[at] + cotangent[at];
    real squashed = tanh(after[at]);
    real d_c = pull_cell(d_after[at] + d_h * open * (1 - squashed * squashed), forget * before[at] + in * candidate);
    d_gates[at] = pull_gate(d_c * candidate, in);
    d_gates[CELLS + at] = pull_gate(d_c * before[at], forget);
    d_gates[2 * CELLS + at] = pull_gate(d_h * squashed, open);
    d_gates[3 * CELLS + at] = d_c * in * (1 - candidate * candidate);
    d_before[at] = d_c * forget;
  });
}

static void backward(const Arrays& arrays, int which_run, int begin, int count) {
  BACKWARD_ARRAYS;
  const Run run(arrays, which_run);
  const int time = arrays.time, rows = in_tiles(count);
  const Matrix recurrent(run.share(RECURRENT, (long)JOINED * GATES), GATES, JOINED);  // transposed
  const Matrix heads(run.share(HEAD_WEIGHTS, (long)CELLS * EMISSION), EMISSION, CELLS);
  std::vector<real> d_gates(rows * GATES), d_joined(rows * in_lanes(JOINED)), d_emissions(rows * EMISSION),
      through_heads(rows * in_lanes(CELLS)), d_cells(count * CELLS), d_cells_before(count * CELLS), d_keys(count * HEADS * KEY),
      d_actions(count * HEADS * ACTION);
  ReadsBack room(arrays.slots);
  for (int r = 0; r < count; r++) {
    const Memories d_memory(run, D_ADDRESSES, begin + r);
    memset(d_memory.addresses, 0, (size_t)arrays.slots * KEY * sizeof(real));
    memset(d_memory.vectors, 0, (size_t)arrays.slots * WIDTH * sizeof(real));
    memset(d_memory.strengths, 0, (size_t)arrays.slots * sizeof(real));
  }

  for (int t = run.steps - 1; t >= 0; t--) {
    const Window seen = run.seen(t);
    const bool writing = run.writes(t);
    auto of = [&](int which, int times, int at, int size, long problem) { return run.row(which, times, at, size) + problem * size; };
    for (int r = 0; r < count; r++) {
      const long problem = begin + r;
      const Memories memory(run, ADDRESSES, problem), d_memory(run, D_ADDRESSES, problem);
      const real* emission = of(SAVED_EMISSIONS, time, t, EMISSION, problem);
      const real* reading = of(SAVED_READING, time + 1, t + 1, READING, problem);
      real extras[HEADS] = {};
      for (int h = 0; h < READ_HEADS; h++)
        read_back(room, memory, d_memory, seen, run.limit(problem), of(SAVED_PLACES, time, t, READ_HEADS * KEY, problem) + h * KEY,
                  TEMPERATURE(emission, h), of(SAVED_TOTALS, time, t, READ_HEADS, problem)[h],
                  of(SAVED_NEAREST, time, t, READ_HEADS, problem)[h], reading + h * WIDTH,
                  &d_joined[r * in_lanes(JOINED) + h * WIDTH], &d_keys[(r * HEADS + h) * KEY], extras + h);
      real* d_emission = &d_emissions[r * EMISSION];
      for (int head = 0; head < WRITE_HEADS; head++) {
        real* __restrict d_raw = d_emission + VECTORS_AT + head * WIDTH;
        const real* __restrict raw = emission + VECTORS_AT + head * WIDTH;
        if (!writing) {
          memset(d_raw, 0, WIDTH * sizeof(real));
          continue;
        }
        int slot = run.slot(t, head);
        real* d_key = &d_keys[(r * HEADS + READ_HEADS + head) * KEY];
        for (int d = 0; d < KEY; d++) d_key[d] += d_memory.address(slot)[d];
        extras[READ_HEADS + head] = d_memory.strengths[slot];
        const real* __restrict d_vector = d_memory.vector(slot);
        in_vectors<WIDTH>([=](int i) { d_raw[i] = pull_squash(raw[i], d_vector[i]); });
      }
      const real* keys = of(SAVED_KEYS, time + 1, t, HEADS * KEY, problem);
      const real* actions = of(SAVED_ACTIONS, time + 1, t, HEADS * ACTION, problem);
      for (int head = 0; head < HEADS; head++) {
        real d_key[KEY], d_action[ACTION];
        memcpy(d_key, &d_keys[(r * HEADS + head) * KEY], sizeof d_key);
        memcpy(d_action, &d_actions[(r * HEADS + head) * ACTION], sizeof d_action);
        pull_head(head, emission, keys + head * KEY, actions + head * ACTION, d_key, d_action, extras[head], d_emission,
                  &d_keys[(r * HEADS + head) * KEY], &d_actions[(r * HEADS + head) * ACTION]);
      }
      memcpy(of(D_EMISSIONS, time + 1, t + 1, EMISSION, problem), d_emission, EMISSION * sizeof(real));
    }
    heads.multiply(d_emissions.data(), EMISSION, rows, through_heads.data());
    for (int r = 0; r < count; r++) {
      const long problem = begin + r;
      control_back(of(SAVED_GATES, time, t, GATES, problem), of(SAVED_CELL, time + 1, t, CELLS, problem),
                   of(SAVED_CELL, time + 1, t + 1, CELLS, problem), &d_joined[r * in_lanes(JOINED) + READING],
                   &through_heads[r * in_lanes(CELLS)], of(COTANGENTS, time, t, CELLS, problem), &d_cells[r * CELLS],
                   &d_cells_before[r * CELLS], &d_gates[r * GATES]);
      memcpy(of(D_GATES, time, t, GATES, problem), &d_gates[r * GATES], GATES * sizeof(real));
    }
    std::swap(d_cells, d_cells_before);
    recurrent.multiply(d_gates.data(), GATES, rows, d_joined.data());
  }
  for (int r = 0; r < count; r++) {
    const long problem = begin + r;
    auto put = [&](int which, int size, const real* from) { memcpy(run.row(which, 1, 0, size) + problem * size, from, size * sizeof(real)); };
    put(D_START_READING, READING, &d_joined[r * in_lanes(JOINED)]);
    put(D_START_HIDDEN, CELLS, &d_joined[r * in_lanes(JOINED) + READING]);
    put(D_START_CELL, CELLS, &d_cells[r * CELLS]);
    put(D_START_KEYS, HEADS * KEY, &d_keys[r * HEADS * KEY]);
    put(D_START_ACTIONS, HEADS * ACTION, &d_actions[r * HEADS * ACTION]);
  }
  // Rows of gates are of the step that they belong to, rows of emissions of the step after it.
  auto clear = [&](int which, int times, int t, int size) {
    memset(run.row(which, times, t, size) + (long)begin * size, 0, (size_t)count * size * sizeof(real));
  };
  clear(D_EMISSIONS, time + 1, 0, EMISSION);
  for (int t = run.steps; t < time; t++) {
    clear(D_EMISSIONS, time + 1, t + 1, EMISSION);
    clear(D_GATES, time, t, GATES);
  }
}

// Some problems of a run, one way or the other.
extern "C" void run_piece(int backwards, void** at, int count, const int* sizes, int run, int begin, int problems) {
  Arrays arrays;
  memcpy(arrays.at, at, count * sizeof(void*));
  arrays.time = sizes[0];
  arrays.batch = sizes[1];
  arrays.slots = sizes[2];
  (backwards ? backward : forward)(arrays, run, begin, problems);
}

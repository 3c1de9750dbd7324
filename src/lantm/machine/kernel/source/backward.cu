// GPU: the backward kernel of the recurrence.

// What a step's backward pass needs of a problem, fetched while the step after it is pulled back.
enum {
  AT_GATES = 0,
  AT_CELL = AT_GATES + GATES,
  AT_COTANGENT = AT_CELL + CELLS,
  AT_EMISSION = AT_COTANGENT + CELLS,
  AT_KEYS = AT_EMISSION + EMISSION,
  AT_ACTIONS = AT_KEYS + HEADS * KEY,
  AT_PLACES = AT_ACTIONS + HEADS * ACTION,
  AT_TOTALS = AT_PLACES + READ_HEADS * KEY,
  AT_NEAREST = AT_TOTALS + READ_HEADS,
  AT_READING = AT_NEAREST + READ_HEADS,
  FETCHED = (AT_READING + READING + 3) / 4 * 4
};

extern "C" __global__ void __launch_bounds__(THREADS, 1) backward(Arrays arrays) {
  SHARED_MEMORY(room);
  Block block(arrays, (int*)(room + LIMITS_AT));
  const int time = arrays.time, slots = arrays.slots, thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
  BACKWARD_ARRAYS;
  real* free = room + BACKWARD_STATE;
  real* d_gates = free;      free += ROWS * BackProduct::STRIDE;
  real* d_emission = free;   free += ROWS * EmissionBackProduct::STRIDE;
  real* d_reading = free;    free += ROWS * READ_HEADS * READING_STRIDE;
  real* fetched = free;      free += 2 * ROWS * FETCHED;
  real* d_hidden = free;     free += ROWS * CELLS;
  real* d_keys = free;       free += ROWS * HEADS * KEY;
  real* d_actions = free;    free += ROWS * HEADS * ACTION;
  real* d_places = free;     free += ROWS * WARPS_PER_ROW * READ_HEADS * (KEY + 1);
  OwnMemories d_memory = own_memories(block, room + BACKWARD_MEMORY, D_ADDRESSES);
#if BACK_MEMORY_SHARED
  OwnMemories memory = own_memories(block, room + BACKWARD_MEMORY + MEMORY_SIZE(slots), ADDRESSES);
  get_memories(block, memory, ADDRESSES);
#else
  Memories<WIDTH> memory = global_memories(block, ADDRESSES);
#endif

  BackProduct back_product;
  EmissionBackProduct emission_product;
  share_out<BackProduct, BACK_TILES>(back_product, JOINED);
  share_out<EmissionBackProduct, 1>(emission_product, CELLS);
  back_product.begin(block.share(RECURRENT, (long)JOINED * GATES), JOINED, 0);
  emission_product.begin(block.share(HEAD_WEIGHTS, (long)CELLS * EMISSION), CELLS, room + WEIGHTS_AT);
  // This thread's cells: two of one problem.
  const int row = lane / 4, first_cell = 8 * warp + 2 * (lane % 4);
  const bool has_cells = warp < GROUPS && row < ROWS;
  real d_cell[2] = {0, 0}, later_cell[2] = {0, 0};
#pragma unroll
  for (int i = 0; i < 2; i++)
    if (has_cells && first_cell + i < CELLS)
      later_cell[i] = block.row(SAVED_CELL, time + 1, block.steps, CELLS)[(long)block.problem(row) * CELLS + first_cell + i];

  clear(room + BACKWARD_STATE, BACKWARD_MEMORY - BACKWARD_STATE);
  for (int r = 0; r < ROWS; r++) {
    if (!has_memory(block, r)) continue;
    clear(d_memory.vector(r, 0), slots * (MEMORY_SHARED ? VECTOR_STRIDE : WIDTH));
    clear(d_memory.address(r, 0), slots * KEY);
    clear(d_memory.strength(r, 0), slots);
  }
  __syncthreads();

  auto fetch_step = [&](int t) {
    real* to = fetched + t % 2 * ROWS * FETCHED;
    fetch_quads(block, to + AT_GATES, block.row(SAVED_GATES, time, t, GATES), GATES, FETCHED);
    fetch(block, to + AT_CELL, block.row(SAVED_CELL, time + 1, t, CELLS), CELLS, FETCHED);
    fetch(block, to + AT_COTANGENT, block.row(COTANGENTS, time, t, CELLS), CELLS, FETCHED);
    fetch(block, to + AT_EMISSION, block.row(SAVED_EMISSIONS, time, t, EMISSION), EMISSION, FETCHED);
    fetch(block, to + AT_KEYS, block.row(SAVED_KEYS, time + 1, t, HEADS * KEY), HEADS * KEY, FETCHED);
    fetch(block, to + AT_ACTIONS, block.row(SAVED_ACTIONS, time + 1, t, HEADS * ACTION), HEADS * ACTION, FETCHED);
    fetch(block, to + AT_PLACES, block.row(SAVED_PLACES, time, t, READ_HEADS * KEY), READ_HEADS * KEY, FETCHED);
    fetch(block, to + AT_TOTALS, block.row(SAVED_TOTALS, time, t, READ_HEADS), READ_HEADS, FETCHED);
    fetch(block, to + AT_NEAREST, block.row(SAVED_NEAREST, time, t, READ_HEADS), READ_HEADS, FETCHED);
    fetch(block, to + AT_READING, block.row(SAVED_READING, time + 1, t + 1, READING), READING, FETCHED);
  };
  if (block.steps > 0) fetch_step(block.steps - 1);

  for (int t = block.steps - 1; t >= 0; t--) {
    copies_done();
    __syncthreads();
    const real* now = fetched + t % 2 * ROWS * FETCHED;
    if (t > 0) fetch_step(t - 1);

    // Through the readings: to the memory, and to the places that were read.
    const Window seen = block.seen(t);
    for (int turn = 0; turn < ROW_TURNS; turn++) {
      int unit = warp + turn * WARPS, r = unit / WARPS_PER_ROW, part = unit % WARPS_PER_ROW;
      if (r >= ROWS || !has_memory(block, r)) continue;
      const real* own = now + r * FETCHED;
      int end = block.end_for(r, seen);
      real gain[READ_HEADS], d_key[READ_HEADS][KEY], d_temperature[READ_HEADS], warmth[READ_HEADS];
#pragma unroll
      for (int h = 0; h < READ_HEADS; h++) {
        real sum = 0;
        for (int at = lane; at < WIDTH; at += 32)
          sum += d_reading[(r * READ_HEADS + h) * READING_STRIDE + at] * own[AT_READING + h * WIDTH + at];
        gain[h] = sum_of_lanes(sum);
        d_temperature[h] = 0;
        warmth[h] = TEMPERATURE(own + AT_EMISSION, h);
        for (int d = 0; d < KEY; d++) d_key[h][d] = 0;
      }
      const int from = BACK_MEMORY_SHARED ? r : block.problem(r) - block.begin;  // whose memories are read
      for (int s = seen.first + part * 32 + lane; s < end; s += 32 * WARPS_PER_ROW) {
        const real* address = memory.address(from, s);
        real strength = *memory.strength(from, s), d_strengths = 0, d_addresses[KEY], weight[READ_HEADS], gains[READ_HEADS];
        for (int d = 0; d < KEY; d++) d_addresses[d] = 0;
#pragma unroll
        for (int h = 0; h < READ_HEADS; h++) gains[h] = 0;
        const real* cotangents = d_reading + r * READ_HEADS * READING_STRIDE;
#pragma unroll 5
        for (int at = 0; at < WIDTH; at += 4) {
          Quad v = memory.quad(from, s, at);
#pragma unroll
          for (int h = 0; h < READ_HEADS; h++) {
            Quad c = *(const Quad*)(cotangents + h * READING_STRIDE + at);
            gains[h] += v.a * c.a + v.b * c.b + v.c * c.c + v.d * c.d;
          }
        }
#pragma unroll
        for (int h = 0; h < READ_HEADS; h++) {
          const real* key = own + AT_PLACES + h * KEY;
          real d_distance, d_strength, d_warmth, d_this[KEY], d_address[KEY];
          pull_weight(squared_distance(key, address), strength, warmth[h], own[AT_NEAREST + h], own[AT_TOTALS + h], gains[h],
                      gain[h], &weight[h], &d_distance, &d_strength, &d_warmth);
          pull_distance(key, address, d_distance, d_this, d_address);
          for (int d = 0; d < KEY; d++) d_key[h][d] += d_this[d], d_addresses[d] += d_address[d];
          d_temperature[h] += d_warmth;
          d_strengths += d_strength;
        }
        for (int d = 0; d < KEY; d++) d_memory.address(r, s)[d] += d_addresses[d];
        *d_memory.strength(r, s) += d_strengths;
#pragma unroll 5
        for (int at = 0; at < WIDTH; at += 4) {
          Quad v = d_memory.quad(r, s, at);
#pragma unroll
          for (int h = 0; h < READ_HEADS; h++) {
            Quad c = *(const Quad*)(cotangents + h * READING_STRIDE + at);
            v.a += weight[h] * c.a;
            v.b += weight[h] * c.b;
            v.c += weight[h] * c.c;
            v.d += weight[h] * c.d;
          }
          d_memory.put_quad(r, s, at, v);
        }
      }
#pragma unroll
      for (int h = 0; h < READ_HEADS; h++) {
        real* out = d_places + ((r * WARPS_PER_ROW + part) * READ_HEADS + h) * (KEY + 1);
        for (int d = 0; d < KEY; d++) {
          real sum = sum_of_lanes(d_key[h][d]);
          if (lane == 0) out[d] = sum;
        }
        real sum = sum_of_lanes(d_temperature[h]);
        if (lane == 0) out[KEY] = sum;
      }
    }
    __syncthreads();

    // Through the heads' moves and the vectors that they wrote, to the emission.
    const bool writing = block.writes(t);
    real* d_row = block.row(D_EMISSIONS, time + 1, t + 1, EMISSION);
    for (int head = warp; head < HEADS; head += WARPS) {
      if (lane >= ROWS) continue;
      int r = lane;
      const real* own = now + r * FETCHED;
      real d_key[KEY], d_action[ACTION], d_extra = 0;
      for (int d = 0; d < KEY; d++) d_key[d] = d_keys[(r * HEADS + head) * KEY + d];
      for (int d = 0; d < ACTION; d++) d_action[d] = d_actions[(r * HEADS + head) * ACTION + d];
      if (head < READ_HEADS) {
        if (has_memory(block, r)) {
          for (int p = 0; p < WARPS_PER_ROW; p++) {
            const real* found = d_places + ((r * WARPS_PER_ROW + p) * READ_HEADS + head) * (KEY + 1);
            for (int d = 0; d < KEY; d++) d_key[d] += found[d];
            d_extra += found[KEY];
          }
        }
      } else if (writing && has_memory(block, r)) {
        int slot = block.slot(t, head - READ_HEADS);
        for (int d = 0; d < KEY; d++) d_key[d] += d_memory.address(r, slot)[d];
        d_extra = *d_memory.strength(r, slot);
      }
      pull_head(head, own + AT_EMISSION, own + AT_KEYS + head * KEY, own + AT_ACTIONS + head * ACTION, d_key, d_action, d_extra,
                d_emission + r * EmissionBackProduct::STRIDE, d_keys + (r * HEADS + head) * KEY,
                d_actions + (r * HEADS + head) * ACTION);
    }
    for (int i = thread; i < ROWS * WRITE_HEADS * WIDTH; i += THREADS) {
      int r = i / (WRITE_HEADS * WIDTH), at = i % (WRITE_HEADS * WIDTH);
      real cotangent = 0;
      if (writing && has_memory(block, r)) cotangent = d_memory.vector(r, block.slot(t, at / WIDTH))[at % WIDTH];
      d_emission[r * EmissionBackProduct::STRIDE + VECTORS_AT + at] = pull_squash(now[r * FETCHED + AT_EMISSION + VECTORS_AT + at], cotangent);
    }
    __syncthreads();

    if (warp < GROUPS) {  // Through the controller.
      real sums[1][4];
      emission_product.run(d_emission, sums);
      real* out = block.row(D_GATES, time, t, GATES);
#pragma unroll
      for (int i = 0; i < 2; i++) {
        int at = first_cell + i;
        if (!has_cells || at >= CELLS) continue;
        const real* own = now + row * FETCHED;
        real in = own[AT_GATES + at], forget = own[AT_GATES + CELLS + at], open = own[AT_GATES + 2 * CELLS + at];
        real candidate = own[AT_GATES + 3 * CELLS + at], before = own[AT_CELL + at];
        real d_h = sums[0][i] + d_hidden[row * CELLS + at] + own[AT_COTANGENT + at];
        real squashed = tanh(later_cell[i]);
        real d_c = d_cell[i] + d_h * open * (1 - squashed * squashed);
        d_c = pull_cell(d_c, forget * before + in * candidate);
        real found[4] = {pull_gate(d_c * candidate, in), pull_gate(d_c * before, forget), pull_gate(d_h * squashed, open),
                         d_c * in * (1 - candidate * candidate)};
#pragma unroll
        for (int g = 0; g < 4; g++) {
          d_gates[row * BackProduct::STRIDE + g * CELLS + at] = found[g];
          if (block.exists(row)) out[(long)(block.begin + row) * GATES + g * CELLS + at] = found[g];
        }
        d_cell[i] = d_c * forget;
        later_cell[i] = before;
      }
    }
    for (int i = thread; i < ROWS * EMISSION; i += THREADS)
      if (block.exists(i / EMISSION))
        d_row[(long)block.begin * EMISSION + i] = d_emission[i / EMISSION * EmissionBackProduct::STRIDE + i % EMISSION];
    __syncthreads();
    {  // To the reading and the hidden state before the step.
      real sums[BACK_TILES][4];
      back_product.run(d_gates, sums);
#pragma unroll
      for (int tile = 0; tile < BACK_TILES; tile++) {
#pragma unroll
        for (int i = 0; i < 2; i++) {
          int k = 8 * (warp + tile * WARPS) + 2 * (lane % 4) + i;
          if (row >= ROWS || k >= JOINED) continue;
          if (k < READING) d_reading[(row * READ_HEADS + k / WIDTH) * READING_STRIDE + k % WIDTH] = sums[tile][i];
          else d_hidden[row * CELLS + k - READING] = sums[tile][i];
        }
      }
    }
  }
  copies_done();
  __syncthreads();
  for (int i = thread; i < ROWS * READING; i += THREADS) {
    int r = i / READING, at = i % READING;
    if (block.exists(r))
      block.row(D_START_READING, 1, 0, READING)[(long)block.begin * READING + i] =
          d_reading[(r * READ_HEADS + at / WIDTH) * READING_STRIDE + at % WIDTH];
  }
  for (int i = thread; i < ROWS * CELLS; i += THREADS)
    if (block.exists(i / CELLS)) block.row(D_START_HIDDEN, 1, 0, CELLS)[(long)block.begin * CELLS + i] = d_hidden[i];
#pragma unroll
  for (int i = 0; i < 2; i++)
    if (has_cells && first_cell + i < CELLS && block.exists(row))
      block.row(D_START_CELL, 1, 0, CELLS)[(long)(block.begin + row) * CELLS + first_cell + i] = d_cell[i];
  for (int i = thread; i < ROWS * HEADS * KEY; i += THREADS)
    if (block.exists(i / (HEADS * KEY))) block.row(D_START_KEYS, 1, 0, HEADS * KEY)[(long)block.begin * HEADS * KEY + i] = d_keys[i];
  for (int i = thread; i < ROWS * HEADS * ACTION; i += THREADS)
    if (block.exists(i / (HEADS * ACTION)))
      block.row(D_START_ACTIONS, 1, 0, HEADS * ACTION)[(long)block.begin * HEADS * ACTION + i] = d_actions[i];
  put_memories(block, d_memory, D_ADDRESSES);
  // Rows of gates are of the step that they belong to, rows of emissions of the step after it.
  clear_row(block, block.row(D_EMISSIONS, time + 1, 0, EMISSION), EMISSION);
  for (int t = block.steps; t < time; t++) clear_row(block, block.row(D_EMISSIONS, time + 1, t + 1, EMISSION), EMISSION);
  for (int t = block.steps; t < time; t++) clear_row(block, block.row(D_GATES, time, t, GATES), GATES);
}

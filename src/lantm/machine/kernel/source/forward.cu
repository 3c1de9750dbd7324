// GPU: the forward kernel of the recurrence.

// A part of the state before the first step: to shared memory, if it goes there, and to the first row of what is saved.
__device__ inline void begin_with(const Block& block, int from, int saved, int size, real* to, int stride) {
  const real* start = block.row(from, 1, 0, size);
  real* first = block.row(saved, block.arrays.time + 1, 0, size);
  for (int i = threadIdx.x; i < ROWS * size; i += THREADS) {
    real value = start[(long)block.problem(i / size) * size + i % size];
    if (to) to[i / size * stride + i % size] = value;
    if (block.exists(i / size)) first[(long)block.begin * size + i] = value;
  }
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) forward(Arrays arrays) {
  SHARED_MEMORY(room);
  Block block(arrays, (int*)(room + LIMITS_AT));
  const int time = arrays.time, thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
  FORWARD_ARRAYS;
  real* free = room + FORWARD_STATE;
  real* given = free;      free += 2 * ROWS * GATES;
  real* joined = free;     free += 2 * ROWS * GateProduct::STRIDE;  // of this step and of the next
  real* hidden = free;     free += ROWS * EmissionProduct::STRIDE;
  real* readings = free;   free += ROWS * WARPS_PER_ROW * READ_HEADS * READING_STRIDE;
  real* emission = free;   free += ROWS * EMISSION;
  real* keys = free;       free += ROWS * HEADS * KEY;
  real* actions = free;    free += ROWS * HEADS * ACTION;
  real* extras = free;     free += ROWS * HEADS;
  real* smallest = free;   free += ROWS * WARPS_PER_ROW * READ_HEADS;
  real* totals = free;     free += ROWS * WARPS_PER_ROW * READ_HEADS;
  Nearest* neighbours = (Nearest*)(room + FORWARD_NEIGHBOURS);  // which may need another alignment than reals
  OwnMemories memory = own_memories(block, room + FORWARD_MEMORY, ADDRESSES);

  GateProduct gate_product;
  EmissionProduct emission_product;
  {
    int at = 8 * warp + lane / 4;
#pragma unroll
    for (int g = 0; g < 4; g++) gate_product.columns[g] = at < CELLS ? g * CELLS + at : -1;
    share_out<EmissionProduct, EMISSION_TILES>(emission_product, EMISSION);
  }
  gate_product.begin(block.share(RECURRENT, (long)JOINED * GATES), GATES, 0);
  emission_product.begin(block.share(HEAD_WEIGHTS, (long)CELLS * EMISSION), EMISSION, room + WEIGHTS_AT);
  real biases[EMISSION_TILES][2];
#pragma unroll
  for (int tile = 0; tile < EMISSION_TILES; tile++)
#pragma unroll
    for (int i = 0; i < 2; i++) {
      int e = 8 * (warp + tile * WARPS) + 2 * (lane % 4) + i;
      biases[tile][i] = e < EMISSION ? block.share(HEAD_BIASES, EMISSION)[e] : real(0);
    }
  // This thread's cells: two of one problem.
  const int row = lane / 4, first_cell = 8 * warp + 2 * (lane % 4);
  real cell[2] = {0, 0};

  fetch_quads(block, given, block.row(INPUTS, time, 0, GATES), GATES, GATES);
  clear(joined, 2 * ROWS * GateProduct::STRIDE);
  clear(hidden, ROWS * EmissionProduct::STRIDE);
  __syncthreads();
  begin_with(block, START_READING, SAVED_READING, READING, joined, GateProduct::STRIDE);
  begin_with(block, START_HIDDEN, SAVED_HIDDEN, CELLS, joined + READING, GateProduct::STRIDE);
  begin_with(block, START_CELL, SAVED_CELL, CELLS, 0, 0);
  begin_with(block, START_KEYS, SAVED_KEYS, HEADS * KEY, keys, HEADS * KEY);
  begin_with(block, START_ACTIONS, SAVED_ACTIONS, HEADS * ACTION, actions, HEADS * ACTION);
#pragma unroll
  for (int i = 0; i < 2; i++)
    if (row < ROWS && first_cell + i < CELLS)
      cell[i] = block.row(START_CELL, 1, 0, CELLS)[(long)block.problem(row) * CELLS + first_cell + i];
  get_memories(block, memory, OLD_ADDRESSES);  // those that there are already

  for (int t = 0; t < block.steps; t++) {
    copies_done();
    __syncthreads();
    if (t + 1 < block.steps)
      fetch_quads(block, given + (t + 1) % 2 * ROWS * GATES, block.row(INPUTS, time, t + 1, GATES), GATES, GATES);
    real* next = joined + (t + 1) % 2 * ROWS * GateProduct::STRIDE;

    if (warp < GROUPS) {  // The controller.
      real sums[4][4];
      gate_product.run(joined + t % 2 * ROWS * GateProduct::STRIDE, sums);
      const real* now = given + (t % 2 * ROWS + row) * GATES;
#pragma unroll
      for (int i = 0; i < 2; i++) {
        int at = first_cell + i;
        if (row >= ROWS || at >= CELLS) continue;
        real gates[4];
#pragma unroll
        for (int g = 0; g < 4; g++) {
          real total = now[g * CELLS + at] + sums[g][i];
          gates[g] = g < 3 ? open_gate(total) : tanh(total);
        }
        cell[i] = keep_cell(gates[1] * cell[i] + gates[0] * gates[3]);
        real h = gates[2] * tanh(cell[i]);
        hidden[row * EmissionProduct::STRIDE + at] = h;
        next[row * GateProduct::STRIDE + READING + at] = h;
        if (!block.exists(row)) continue;
        long problem = block.begin + row;
#pragma unroll
        for (int g = 0; g < 4; g++) block.row(SAVED_GATES, time, t, GATES)[problem * GATES + g * CELLS + at] = gates[g];
        block.row(SAVED_CELL, time + 1, t + 1, CELLS)[problem * CELLS + at] = cell[i];
        block.row(SAVED_HIDDEN, time + 1, t + 1, CELLS)[problem * CELLS + at] = h;
      }
    }
    __syncthreads();
    const bool writing = block.writes(t);
    {  // What it emits; vectors go to the memory at once.
      real sums[EMISSION_TILES][4];
      emission_product.run(hidden, sums);
#pragma unroll
      for (int tile = 0; tile < EMISSION_TILES; tile++) {
#pragma unroll
        for (int i = 0; i < 2; i++) {
          int e = 8 * (warp + tile * WARPS) + 2 * (lane % 4) + i;
          if (row >= ROWS || e >= EMISSION) continue;
          real value = sums[tile][i] + biases[tile][i];
          emission[row * EMISSION + e] = value;
          if (block.exists(row)) block.row(SAVED_EMISSIONS, time, t, EMISSION)[(long)(block.begin + row) * EMISSION + e] = value;
          int at = e - VECTORS_AT;
          if (writing && at >= 0 && at < WRITE_HEADS * WIDTH && has_memory(block, row))
            memory.vector(row, block.slot(t, at / WIDTH))[at % WIDTH] = squash(value);
        }
      }
    }
    __syncthreads();
    // The heads move, each in a warp of its own, a lane per problem.
    for (int head = warp; head < HEADS; head += WARPS) {
      if (lane >= ROWS) continue;
      int r = lane;
      real* key = keys + (r * HEADS + head) * KEY;
      real* action = actions + (r * HEADS + head) * ACTION;
      real new_key[KEY], new_action[ACTION], extra;
      move_head(head, emission + r * EMISSION, key, action, new_key, new_action, &extra);
      for (int d = 0; d < KEY; d++) key[d] = new_key[d];
      for (int d = 0; d < ACTION; d++) action[d] = new_action[d];
      extras[r * HEADS + head] = extra;
      if (head >= READ_HEADS && writing && has_memory(block, r)) {
        int slot = block.slot(t, head - READ_HEADS);
        for (int d = 0; d < KEY; d++) memory.address(r, slot)[d] = new_key[d];
        *memory.strength(r, slot) = extra;
      }
      if (!block.exists(r)) continue;
      long problem = block.begin + r;
      for (int d = 0; d < ACTION; d++)
        block.row(SAVED_ACTIONS, time + 1, t + 1, HEADS * ACTION)[(problem * HEADS + head) * ACTION + d] = new_action[d];
      if (head < READ_HEADS)
        for (int d = 0; d < KEY; d++)
          block.row(SAVED_PLACES, time, t, READ_HEADS * KEY)[(problem * READ_HEADS + head) * KEY + d] = new_key[d];
      if (head >= READ_HEADS || !SETTLE_READS)
        for (int d = 0; d < KEY; d++)
          block.row(SAVED_KEYS, time + 1, t + 1, HEADS * KEY)[(problem * HEADS + head) * KEY + d] = new_key[d];
    }
    __syncthreads();
    const Window seen = block.seen(t), left = block.left(t);
#if ASKS_FOR_NEAREST
    for (int turn = 0; turn < ROW_TURNS; turn++) {
      int unit = warp + turn * WARPS, r = unit / WARPS_PER_ROW, part = unit % WARPS_PER_ROW;
      if (r >= ROWS || !has_memory(block, r)) continue;
      int end = block.end_for(r, seen);
      for (int h = 0; h < READ_HEADS; h++) {
        real least = LARGEST;
        for (int s = seen.first + part * 32 + lane; s < end; s += 32 * WARPS_PER_ROW)
          least = smaller(least, squared_distance(keys + (r * HEADS + h) * KEY, memory.address(r, s)));
        least = smallest_of_lanes(least);
        if (lane == 0) smallest[(r * WARPS_PER_ROW + part) * READ_HEADS + h] = least;
      }
    }
    __syncthreads();
#endif
    for (int turn = 0; turn < ROW_TURNS; turn++) {
      int unit = warp + turn * WARPS, r = unit / WARPS_PER_ROW, part = unit % WARPS_PER_ROW;
      if (r >= ROWS || !has_memory(block, r)) continue;
      int seen_end = block.end_for(r, seen), first = seen.first, end = seen_end;
#if SETTLE_READS
      int left_end = block.end_for(r, left);
      first = first < left.first ? first : left.first;
      end = end > left_end ? end : left_end;
#endif
      real key[READ_HEADS][KEY], warmth[READ_HEADS], total[READ_HEADS], least[READ_HEADS];
      Quad reading[READ_HEADS];
      Nearest near[READ_HEADS];
#pragma unroll
      for (int h = 0; h < READ_HEADS; h++) {
        for (int d = 0; d < KEY; d++) key[h][d] = keys[(r * HEADS + h) * KEY + d];
        warmth[h] = extras[r * HEADS + h];
        total[h] = 0;
        reading[h] = Quad{0, 0, 0, 0};
        near[h] = Nearest{INFINITY, INFINITY, 0};
        least[h] = LARGEST;
#if ASKS_FOR_NEAREST
        for (int p = 0; p < WARPS_PER_ROW; p++) least[h] = smaller(least[h], smallest[(r * WARPS_PER_ROW + p) * READ_HEADS + h]);
#endif
      }
      for (int base = first + 32 * part; base < end; base += 32 * WARPS_PER_ROW) {
        int s = base + lane;
        real weight[READ_HEADS];
#pragma unroll
        for (int h = 0; h < READ_HEADS; h++) {
          weight[h] = 0;
          if (s >= end) continue;
          real distance = squared_distance(key[h], memory.address(r, s));
          if (s >= seen.first && s < seen_end) {
            real counted;
            count(distance, *memory.strength(r, s), warmth[h], least[h], &counted, &weight[h]);
            total[h] += counted;
          }
#if SETTLE_READS
          if (s >= left.first && s < left_end) near[h] = nearer(near[h], Nearest{distance, INFINITY, s});
#endif
        }
        // QUAD_LANES lanes have the numbers of a memory, four each; so many memories are read at once.
#pragma unroll 4
        for (int i = 0; i < 32 && base + i < seen_end; i += 32 / QUAD_LANES) {
          int from = i + lane / QUAD_LANES, quad = lane % QUAD_LANES;
          int slot = base + from < end ? base + from : end - 1;
          Quad v = {0, 0, 0, 0};
          if (quad < QUADS) v = memory.quad(r, slot, 4 * quad);
#pragma unroll
          for (int h = 0; h < READ_HEADS; h++) {
            real w = __shfl_sync(ALL_LANES, weight[h], from);
            reading[h].a += w * v.a;
            reading[h].b += w * v.b;
            reading[h].c += w * v.c;
            reading[h].d += w * v.d;
          }
        }
      }
#pragma unroll
      for (int h = 0; h < READ_HEADS; h++) {
#pragma unroll
        for (int apart = QUAD_LANES; apart < 32; apart *= 2) {
          reading[h].a += __shfl_xor_sync(ALL_LANES, reading[h].a, apart);
          reading[h].b += __shfl_xor_sync(ALL_LANES, reading[h].b, apart);
          reading[h].c += __shfl_xor_sync(ALL_LANES, reading[h].c, apart);
          reading[h].d += __shfl_xor_sync(ALL_LANES, reading[h].d, apart);
        }
        int place = (r * WARPS_PER_ROW + part) * READ_HEADS + h;
        if (lane < QUADS) *(Quad*)(readings + place * READING_STRIDE + 4 * lane) = reading[h];
        total[h] = sum_of_lanes(total[h]);
        if (lane == 0) totals[place] = total[h];
#if SETTLE_READS
        for (int apart = 16; apart; apart /= 2) {
          Nearest other;
          other.first = __shfl_xor_sync(ALL_LANES, near[h].first, apart);
          other.second = __shfl_xor_sync(ALL_LANES, near[h].second, apart);
          other.slot = __shfl_xor_sync(ALL_LANES, near[h].slot, apart);
          near[h] = nearer(near[h], other);
        }
        if (lane == 0) neighbours[place] = near[h];
#endif
      }
    }
    __syncthreads();
    // The readings, put together from those of several warps.
    for (int item = thread; item < ROWS * READING; item += THREADS) {
      int r = item / READING, h = item % READING / WIDTH, at = item % WIDTH;
      if (!has_memory(block, r)) continue;
      real sum = 0, total = 0;
      for (int p = 0; p < WARPS_PER_ROW; p++) {
        int place = (r * WARPS_PER_ROW + p) * READ_HEADS + h;
        sum += readings[place * READING_STRIDE + at];
        total += totals[place];
      }
      total = larger(total, TINY);
      real reading = divide(sum, total);
      next[r * GateProduct::STRIDE + h * WIDTH + at] = reading;
      long problem = block.begin + r;
      if (block.exists(r)) block.row(SAVED_READING, time + 1, t + 1, READING)[problem * READING + h * WIDTH + at] = reading;
      if (at) continue;
      real least = LARGEST;
#if ASKS_FOR_NEAREST
      for (int p = 0; p < WARPS_PER_ROW; p++) least = smaller(least, smallest[(r * WARPS_PER_ROW + p) * READ_HEADS + h]);
#endif
      if (block.exists(r)) {
        block.row(SAVED_TOTALS, time, t, READ_HEADS)[problem * READ_HEADS + h] = total;
        block.row(SAVED_NEAREST, time, t, READ_HEADS)[problem * READ_HEADS + h] = least;
      }
#if SETTLE_READS
      Nearest near = {INFINITY, INFINITY, 0};
      for (int p = 0; p < WARPS_PER_ROW; p++) near = nearer(near, neighbours[(r * WARPS_PER_ROW + p) * READ_HEADS + h]);
      real* key = keys + (r * HEADS + h) * KEY;
      for (int d = 0; d < KEY; d++) {
        if (settles(near)) key[d] = memory.address(r, near.slot)[d];
        if (block.exists(r)) block.row(SAVED_KEYS, time + 1, t + 1, HEADS * KEY)[(problem * HEADS + h) * KEY + d] = key[d];
      }
#endif
    }
  }
  copies_done();
  __syncthreads();
  put_memories(block, memory, ADDRESSES);
  for (int t = block.steps; t < time; t++) {  // nothing happens any more
    clear_row(block, block.row(SAVED_READING, time + 1, t + 1, READING), READING);
    clear_row(block, block.row(SAVED_HIDDEN, time + 1, t + 1, CELLS), CELLS);
    clear_row(block, block.row(SAVED_CELL, time + 1, t + 1, CELLS), CELLS);
    clear_row(block, block.row(SAVED_KEYS, time + 1, t + 1, HEADS * KEY), HEADS * KEY);
    clear_row(block, block.row(SAVED_ACTIONS, time + 1, t + 1, HEADS * ACTION), HEADS * ACTION);
    clear_row(block, block.row(SAVED_EMISSIONS, time, t, EMISSION), EMISSION);
  }
}

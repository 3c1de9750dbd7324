// The recurrence of a Lie access machine: all steps of a block of problems, forward and backward, as two kernels.
//
// A block of ROWS problems of one run (a machine with weights of its own) lives in one multiprocessor for all its steps.
// Threads hold the weights of its matrix products in registers; the state is in shared memory, and so is the memory of
// the machine where it fits. What a step needs from global memory is fetched while the step before is computed.
//
// Sizes and switches are macros, and the formulas of heads, gates and read weights are functions, all of which
// lantm/machine/kernel/program.py puts before this file. `real` is float, or double where the kernels are emulated.

struct Arrays {
  void* at[34];  // in the order of lantm/machine/kernel/calls.py
  int time, batch, slots;
};

#define GATES (4 * CELLS)
#define READING (READ_HEADS * WIDTH)
#define JOINED (READING + CELLS)
#define HEADS (READ_HEADS + WRITE_HEADS)
#define WARPS (THREADS / 32)
#define WARPS_PER_ROW (WARPS > ROWS ? WARPS / ROWS : 1)
#define ROW_TURNS ((ROWS * WARPS_PER_ROW + WARPS - 1) / WARPS)
#define ALL_LANES 0xffffffffu

struct ALIGNED Quad { real a, b, c, d; };  // read at once

// ---- Sums over lanes

__device__ inline real sum_of_lanes(real x) {
  for (int apart = 16; apart; apart /= 2) x += __shfl_xor_sync(ALL_LANES, x, apart);
  return x;
}

__device__ inline real smallest_of_lanes(real x) {
  for (int apart = 16; apart; apart /= 2) x = smaller(x, __shfl_xor_sync(ALL_LANES, x, apart));
  return x;
}

// ---- Products of rows with a matrix of K x COLUMNS

// A column belongs to PARTS neighbouring threads, each with a share of its K weights.
template <int K, int COLUMNS, int PARTS, bool HELD>
struct Product {
  static const int SHARE = ((K + PARTS - 1) / PARTS + 3) / 4 * 4;
  static const int STRIDE = SHARE * PARTS;  // of the rows in shared memory, which are zero from K on
  int column, part;
  const real* matrix;
  real held[HELD ? SHARE : 1];

  __device__ inline real weight(int at) const {
    int k = part * SHARE + at;
    return column < COLUMNS && k < K ? matrix[k * COLUMNS + column] : real(0);
  }

  __device__ inline void begin(const real* from) {
    matrix = from;
    column = threadIdx.x / PARTS;
    part = threadIdx.x % PARTS;
    if (HELD) {
#pragma unroll
      for (int at = 0; at < SHARE; at++) held[at] = weight(at);
    }
  }

  // All parts of a column get its sums.
  __device__ inline void run(const real* rows, real* sums) const {
#pragma unroll
    for (int r = 0; r < ROWS; r++) sums[r] = 0;
    if (HELD) {
#pragma unroll
      for (int at = 0; at < SHARE; at += 4) add(rows, at, held[at], held[at + 1], held[at + 2], held[at + 3], sums);
    } else {
#pragma unroll 4
      for (int at = 0; at < SHARE; at += 4) add(rows, at, weight(at), weight(at + 1), weight(at + 2), weight(at + 3), sums);
    }
#pragma unroll
    for (int apart = PARTS / 2; apart; apart /= 2) {
#pragma unroll
      for (int r = 0; r < ROWS; r++) sums[r] += __shfl_xor_sync(ALL_LANES, sums[r], apart);
    }
  }

  __device__ inline void add(const real* rows, int at, real a, real b, real c, real d, real* sums) const {
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
      Quad x = *(const Quad*)(rows + r * STRIDE + part * SHARE + at);
      sums[r] += x.a * a;
      sums[r] += x.b * b;
      sums[r] += x.c * c;
      sums[r] += x.d * d;
    }
  }

  // Of the threads of a column, the one that goes on with a row.
  __device__ inline bool owns(int row) const { return column < COLUMNS && row % PARTS == part; }
};

typedef Product<JOINED, GATES, GATE_PARTS, HELD_GATES> GateProduct;
typedef Product<CELLS, EMISSION, EMISSION_PARTS, HELD_EMISSION> EmissionProduct;
typedef Product<GATES, JOINED, BACK_PARTS, HELD_BACK> BackProduct;                          // transposed
typedef Product<EMISSION, CELLS, EMISSION_BACK_PARTS, HELD_EMISSION_BACK> EmissionBackProduct;  // transposed

// ---- A block of problems

struct Window { int first, end; };

struct Block {
  const Arrays& arrays;
  int run, begin;  // which run, and the first problem of the block
  int steps, turn;
  Window start;
  const int* limits;

  __device__ inline Block(const Arrays& arrays) : arrays(arrays) {
    run = blockIdx.y;
    begin = blockIdx.x * ROWS;
    const int* numbers = (const int*)arrays.at[0] + 4 * run;
    steps = numbers[0];
    turn = numbers[1];
    start.first = numbers[2];
    start.end = numbers[3];
    limits = (const int*)arrays.at[1] + run * arrays.batch;
  }

  // The problem of a row: where there are too few to fill the block, the last one again.
  __device__ inline int problem(int row) const { return begin + row < arrays.batch ? begin + row : arrays.batch - 1; }
  __device__ inline bool exists(int row) const { return begin + row < arrays.batch; }

  // A run's share of an array, of so many numbers for each.
  __device__ inline real* share(int which, long size) const { return (real*)arrays.at[which] + run * size; }

  // Row `t` of an array with time and batch before `size` numbers, of which there are `times` rows.
  __device__ inline real* row(int which, int times, int t, int size) const {
    return share(which, (long)times * arrays.batch * size) + ((long)t * arrays.batch) * size;
  }

  __device__ inline Window window(int written) const {
    Window found = {start.first, start.end + written};
#if DROP > 0
    int surplus = start.end - start.first + written - DROP_LIMIT;
    if (surplus >= 0) found.first += DROP * (surplus / DROP + 1);
#endif
    return found;
  }
  // What is remembered after a step, and what its reading sees.
  __device__ inline Window left(int t) const { return window(WRITE_HEADS * (t + 1 < turn ? t + 1 : turn)); }
  __device__ inline Window seen(int t) const {
#if READ_SEES_WRITE
    return left(t);
#else
    return window(WRITE_HEADS * (t < turn ? t : turn));
#endif
  }
  __device__ inline int slot(int t, int write_head) const { return start.end + WRITE_HEADS * t + write_head; }
  __device__ inline int end_for(int row, Window window) const {
    int limit = limits[problem(row)];
    return window.end < limit ? window.end : limit;
  }
};

// Copies `size` numbers per problem into shared memory, where a problem has `stride` of them, without waiting.
__device__ inline void fetch(const Block& block, real* to, const real* from, int size, int stride) {
  for (int i = threadIdx.x; i < ROWS * size; i += THREADS)
    copy_async(to + i / size * stride + i % size, from + (long)block.problem(i / size) * size + i % size);
}

__device__ inline void clear(real* what, int size) {
  for (int i = threadIdx.x; i < size; i += THREADS) what[i] = 0;
}

__device__ inline void clear_row(const Block& block, real* row, int size) {
  for (int i = threadIdx.x; i < ROWS * size; i += THREADS)
    if (block.exists(i / size)) row[(long)block.begin * size + i] = 0;
}

// A problem's memories: in shared memory, or where they are in global memory.
struct Memories {
  real *addresses, *vectors, *strengths;

  __device__ inline real* address(int row, int slot, int slots) const { return addresses + ((long)row * slots + slot) * KEY; }
  __device__ inline real* vector(int row, int slot, int slots) const {
    return vectors + ((long)row * slots + slot) * VECTOR_STRIDE;
  }
  __device__ inline real* strength(int row, int slot, int slots) const { return strengths + (long)row * slots + slot; }
};

// The memories of a block, either in shared memory (from `*free` on) or in the arrays `which`, `which` + 1, ...
__device__ inline Memories memories(const Block& block, real** free, int which) {
  int slots = block.arrays.slots;
  Memories found;
#if MEMORY_SHARED
  found.vectors = *free;
  found.addresses = found.vectors + ROWS * slots * VECTOR_STRIDE;
  found.strengths = found.addresses + ROWS * slots * KEY;
  *free = found.strengths + (ROWS * slots + 3) / 4 * 4;
  *free += (4 - (ROWS * slots * KEY) % 4) % 4;
#else
  long problems = (long)block.run * block.arrays.batch + block.begin;
  found.addresses = (real*)block.arrays.at[which] + problems * slots * KEY;
  found.vectors = (real*)block.arrays.at[which + 1] + problems * slots * WIDTH;
  found.strengths = (real*)block.arrays.at[which + 2] + problems * slots;
#endif
  return found;
}

// Whether a row has memories of its own: in global memory those that do not exist have none.
__device__ inline bool has_memory(const Block& block, int row) { return MEMORY_SHARED || block.exists(row); }

// ---- Forward

struct Nearest { real first, second; int slot; };

__device__ inline Nearest nearer(Nearest a, Nearest b) {
  bool swap = b.first < a.first || (b.first == a.first && b.slot < a.slot);
  Nearest found = swap ? b : a;
  found.second = smaller(smaller(a.second, b.second), larger(a.first, b.first));
  return found;
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) forward(Arrays arrays) {
  SHARED_MEMORY(room);
  Block block(arrays);
  const int time = arrays.time, slots = arrays.slots, thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
  enum {
    INPUTS = 2, RECURRENT, HEAD_WEIGHTS, HEAD_BIASES, START_READING, START_HIDDEN, START_CELL, START_KEYS, START_ACTIONS,
    OLD_ADDRESSES, OLD_VECTORS, OLD_STRENGTHS,
    SAVED_READING, SAVED_HIDDEN, SAVED_CELL, SAVED_KEYS, SAVED_ACTIONS, SAVED_GATES, SAVED_EMISSIONS, SAVED_PLACES,
    SAVED_TOTALS, SAVED_NEAREST, ADDRESSES, VECTORS, STRENGTHS, SCRATCH
  };
  real* free = room;
  real* given = free;      free += 2 * ROWS * GATES;
  real* joined = free;     free += ROWS * GateProduct::STRIDE;
  real* hidden = free;     free += ROWS * EmissionProduct::STRIDE;
  real* gates = free;      free += ROWS * GATES;
  real* emission = free;   free += (ROWS * EMISSION + 3) / 4 * 4;
  real* cell = free;       free += (ROWS * CELLS + 3) / 4 * 4;
  real* keys = free;       free += ROWS * HEADS * KEY;
  real* actions = free;    free += ROWS * HEADS * ACTION;
  real* extras = free;     free += ROWS * HEADS;
  real* smallest = free;   free += ROWS * WARPS_PER_ROW * READ_HEADS;
  real* totals = free;     free += ROWS * WARPS_PER_ROW * READ_HEADS;
  Nearest* neighbours = (Nearest*)(room + FORWARD_NEIGHBOURS);  // which need another alignment than reals
  free = room + FORWARD_MEMORY;
  Memories memory = memories(block, &free, ADDRESSES);
#if MEMORY_SHARED
  real* weights = free;  // of every memory, in the reading of every head
#else
  real* weights = block.share(SCRATCH, (long)arrays.batch * READ_HEADS * slots) + (long)block.begin * READ_HEADS * slots;
#endif

  GateProduct gate_product;
  EmissionProduct emission_product;
  gate_product.begin(block.share(RECURRENT, (long)JOINED * GATES));
  emission_product.begin(block.share(HEAD_WEIGHTS, (long)CELLS * EMISSION));
  const real* biases = block.share(HEAD_BIASES, EMISSION);

  fetch(block, given, block.row(INPUTS, time, 0, GATES), GATES, GATES);
  clear(joined, ROWS * GateProduct::STRIDE);
  clear(hidden, ROWS * EmissionProduct::STRIDE);
  __syncthreads();
  // The state before the first step, in shared memory and as the first row of what is saved.
  for (int i = thread; i < ROWS * READING; i += THREADS) {
    int r = i / READING, at = i % READING;
    real value = block.row(START_READING, 1, 0, READING)[(long)block.problem(r) * READING + at];
    joined[r * GateProduct::STRIDE + at] = value;
    if (block.exists(r)) block.row(SAVED_READING, time + 1, 0, READING)[(long)(block.begin + r) * READING + at] = value;
  }
  for (int i = thread; i < ROWS * CELLS; i += THREADS) {
    int r = i / CELLS, at = i % CELLS;
    long place = (long)block.problem(r) * CELLS + at;
    real h = block.row(START_HIDDEN, 1, 0, CELLS)[place], c = block.row(START_CELL, 1, 0, CELLS)[place];
    joined[r * GateProduct::STRIDE + READING + at] = h;
    cell[i] = c;
    if (block.exists(r)) {
      block.row(SAVED_HIDDEN, time + 1, 0, CELLS)[place] = h;
      block.row(SAVED_CELL, time + 1, 0, CELLS)[place] = c;
    }
  }
  for (int i = thread; i < ROWS * HEADS * KEY; i += THREADS) {
    int r = i / (HEADS * KEY);
    keys[i] = block.row(START_KEYS, 1, 0, HEADS * KEY)[(long)block.problem(r) * HEADS * KEY + i % (HEADS * KEY)];
    if (block.exists(r)) block.row(SAVED_KEYS, time + 1, 0, HEADS * KEY)[(long)block.begin * HEADS * KEY + i] = keys[i];
  }
  for (int i = thread; i < ROWS * HEADS * ACTION; i += THREADS) {
    int r = i / (HEADS * ACTION);
    actions[i] = block.row(START_ACTIONS, 1, 0, HEADS * ACTION)[(long)block.problem(r) * HEADS * ACTION + i % (HEADS * ACTION)];
    if (block.exists(r))
      block.row(SAVED_ACTIONS, time + 1, 0, HEADS * ACTION)[(long)block.begin * HEADS * ACTION + i] = actions[i];
  }
  // The memory that there is already.
  for (int r = 0; r < ROWS; r++) {
    if (!has_memory(block, r)) continue;
    long problem = (long)block.run * arrays.batch + block.problem(r);
    const real* old = (const real*)arrays.at[OLD_VECTORS] + problem * slots * WIDTH;
    for (int i = thread; i < slots * VECTOR_STRIDE; i += THREADS) {
      int at = i % VECTOR_STRIDE;
      memory.vectors[(long)r * slots * VECTOR_STRIDE + i] = at < WIDTH ? old[i / VECTOR_STRIDE * WIDTH + at] : real(0);
    }
    old = (const real*)arrays.at[OLD_ADDRESSES] + problem * slots * KEY;
    for (int i = thread; i < slots * KEY; i += THREADS) memory.addresses[(long)r * slots * KEY + i] = old[i];
    old = (const real*)arrays.at[OLD_STRENGTHS] + problem * slots;
    for (int i = thread; i < slots; i += THREADS) memory.strengths[(long)r * slots + i] = old[i];
  }

  for (int t = 0; t < block.steps; t++) {
    copies_done();
    __syncthreads();
    if (t + 1 < block.steps)
      fetch(block, given + (t + 1) % 2 * ROWS * GATES, block.row(INPUTS, time, t + 1, GATES), GATES, GATES);

    {  // The controller's gates.
      real sums[ROWS];
      gate_product.run(joined, sums);
      const real* now = given + t % 2 * ROWS * GATES;
      real* saved = block.row(SAVED_GATES, time, t, GATES);
#pragma unroll
      for (int r = 0; r < ROWS; r++) {
        if (!gate_product.owns(r)) continue;
        int j = gate_product.column;
        real total = now[r * GATES + j] + sums[r];
        real gate = j < 3 * CELLS ? open_gate(total) : tanh(total);
        gates[r * GATES + j] = gate;
        if (block.exists(r)) saved[(long)(block.begin + r) * GATES + j] = gate;
      }
    }
    __syncthreads();
    for (int i = thread; i < ROWS * CELLS; i += THREADS) {
      int r = i / CELLS, at = i % CELLS;
      const real* gate = gates + r * GATES + at;
      real c = keep_cell(gate[CELLS] * cell[i] + gate[0] * gate[3 * CELLS]);
      real h = gate[2 * CELLS] * tanh(c);
      cell[i] = c;
      hidden[r * EmissionProduct::STRIDE + at] = h;
      joined[r * GateProduct::STRIDE + READING + at] = h;
      if (block.exists(r)) {
        block.row(SAVED_CELL, time + 1, t + 1, CELLS)[(long)block.begin * CELLS + i] = c;
        block.row(SAVED_HIDDEN, time + 1, t + 1, CELLS)[(long)block.begin * CELLS + i] = h;
      }
    }
    __syncthreads();
    const bool writing = t < block.turn && block.slot(t, WRITE_HEADS - 1) < slots;
    {  // What it emits; vectors go to the memory at once.
      real sums[ROWS];
      emission_product.run(hidden, sums);
      real* saved = block.row(SAVED_EMISSIONS, time, t, EMISSION);
#pragma unroll
      for (int r = 0; r < ROWS; r++) {
        if (!emission_product.owns(r)) continue;
        int e = emission_product.column;
        real value = sums[r] + biases[e];
        emission[r * EMISSION + e] = value;
        if (block.exists(r)) saved[(long)(block.begin + r) * EMISSION + e] = value;
        int at = e - VECTORS_AT;
        if (writing && at >= 0 && at < WRITE_HEADS * WIDTH && has_memory(block, r))
          memory.vector(r, block.slot(t, at / WIDTH), slots)[at % WIDTH] = squash(value);
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
        for (int d = 0; d < KEY; d++) memory.address(r, slot, slots)[d] = new_key[d];
        *memory.strength(r, slot, slots) = extra;
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
          least = smaller(least, squared_distance(keys + (r * HEADS + h) * KEY, memory.address(r, s, slots)));
        least = smallest_of_lanes(least);
        if (lane == 0) smallest[(r * WARPS_PER_ROW + part) * READ_HEADS + h] = least;
      }
    }
    __syncthreads();
#endif
    for (int turn = 0; turn < ROW_TURNS; turn++) {
      int unit = warp + turn * WARPS, r = unit / WARPS_PER_ROW, part = unit % WARPS_PER_ROW;
      if (r >= ROWS || !has_memory(block, r)) continue;
      int seen_end = block.end_for(r, seen), left_end = block.end_for(r, left);
      int first = seen.first < left.first ? seen.first : left.first, end = seen_end > left_end ? seen_end : left_end;
#if !SETTLE_READS
      first = seen.first;
      end = seen_end;
#endif
      for (int h = 0; h < READ_HEADS; h++) {
        const real* key = keys + (r * HEADS + h) * KEY;
        real* weight = weights + ((long)r * READ_HEADS + h) * slots;
        real total = 0, least = LARGEST;
#if ASKS_FOR_NEAREST
        for (int p = 0; p < WARPS_PER_ROW; p++) least = smaller(least, smallest[(r * WARPS_PER_ROW + p) * READ_HEADS + h]);
#endif
        Nearest near = {INFINITY, INFINITY, 0};
        for (int s = first + part * 32 + lane; s < end; s += 32 * WARPS_PER_ROW) {
          real distance = squared_distance(key, memory.address(r, s, slots));
          if (s >= seen.first && s < seen_end) {
            real counted;
            count(distance, *memory.strength(r, s, slots), extras[r * HEADS + h], least, &counted, weight + s);
            total += counted;
          }
#if SETTLE_READS
          if (s >= left.first && s < left_end) near = nearer(near, Nearest{distance, INFINITY, s});
#endif
        }
        total = sum_of_lanes(total);
        if (lane == 0) totals[(r * WARPS_PER_ROW + part) * READ_HEADS + h] = total;
#if SETTLE_READS
        for (int apart = 16; apart; apart /= 2) {
          Nearest other;
          other.first = __shfl_xor_sync(ALL_LANES, near.first, apart);
          other.second = __shfl_xor_sync(ALL_LANES, near.second, apart);
          other.slot = __shfl_xor_sync(ALL_LANES, near.slot, apart);
          near = nearer(near, other);
        }
        if (lane == 0) neighbours[(r * WARPS_PER_ROW + part) * READ_HEADS + h] = near;
#endif
      }
    }
    __syncthreads();
    // The readings: a number belongs to READING_PARTS neighbouring threads, each with a share of the memories.
    for (int base = 0; base < ROWS * READING * READING_PARTS; base += THREADS) {
      int item = (base + thread) / READING_PARTS, part = (base + thread) % READING_PARTS;
      int r = item / READING, h = item % READING / WIDTH, at = item % WIDTH;
      bool counts = item < ROWS * READING && has_memory(block, r < ROWS ? r : 0);
      real sum = 0;
      if (counts) {
        const real* weight = weights + ((long)r * READ_HEADS + h) * slots;
        int end = block.end_for(r, seen);
#pragma unroll 4
        for (int s = seen.first + part; s < end; s += READING_PARTS) sum += weight[s] * memory.vector(r, s, slots)[at];
      }
#pragma unroll
      for (int apart = READING_PARTS / 2; apart; apart /= 2) sum += __shfl_xor_sync(ALL_LANES, sum, apart);
      if (!counts || part) continue;
      real total = 0, least = LARGEST;
      for (int p = 0; p < WARPS_PER_ROW; p++) total += totals[(r * WARPS_PER_ROW + p) * READ_HEADS + h];
      total = larger(total, TINY);
      real reading = sum / total;
      joined[r * GateProduct::STRIDE + h * WIDTH + at] = reading;
      long problem = block.begin + r;
      if (block.exists(r)) block.row(SAVED_READING, time + 1, t + 1, READING)[problem * READING + h * WIDTH + at] = reading;
      if (at) continue;
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
      bool settles = SETTLING_RATIO * near.first < near.second && near.second < INFINITY;
      for (int d = 0; d < KEY; d++) {
        if (settles) key[d] = memory.address(r, near.slot, slots)[d];
        if (block.exists(r)) block.row(SAVED_KEYS, time + 1, t + 1, HEADS * KEY)[(problem * HEADS + h) * KEY + d] = key[d];
      }
#endif
    }
  }
  copies_done();
  __syncthreads();
#if MEMORY_SHARED
  for (int r = 0; r < ROWS && block.exists(r); r++) {
    long problem = (long)block.run * arrays.batch + block.begin + r;
    real* out = (real*)arrays.at[VECTORS] + problem * slots * WIDTH;
    for (int i = thread; i < slots * WIDTH; i += THREADS) out[i] = memory.vector(r, i / WIDTH, slots)[i % WIDTH];
    out = (real*)arrays.at[ADDRESSES] + problem * slots * KEY;
    for (int i = thread; i < slots * KEY; i += THREADS) out[i] = memory.addresses[(long)r * slots * KEY + i];
    out = (real*)arrays.at[STRENGTHS] + problem * slots;
    for (int i = thread; i < slots; i += THREADS) out[i] = memory.strengths[(long)r * slots + i];
  }
#endif
  for (int t = block.steps; t < time; t++) {  // nothing happens any more
    clear_row(block, block.row(SAVED_READING, time + 1, t + 1, READING), READING);
    clear_row(block, block.row(SAVED_HIDDEN, time + 1, t + 1, CELLS), CELLS);
    clear_row(block, block.row(SAVED_CELL, time + 1, t + 1, CELLS), CELLS);
    clear_row(block, block.row(SAVED_KEYS, time + 1, t + 1, HEADS * KEY), HEADS * KEY);
    clear_row(block, block.row(SAVED_ACTIONS, time + 1, t + 1, HEADS * ACTION), HEADS * ACTION);
    clear_row(block, block.row(SAVED_EMISSIONS, time, t, EMISSION), EMISSION);
  }
}

// ---- Backward

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
  FETCHED = AT_READING + READING
};

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) backward(Arrays arrays) {
  SHARED_MEMORY(room);
  Block block(arrays);
  const int time = arrays.time, slots = arrays.slots, thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
  enum {
    COTANGENTS = 2, RECURRENT, HEAD_WEIGHTS,
    SAVED_READING, SAVED_HIDDEN, SAVED_CELL, SAVED_KEYS, SAVED_ACTIONS, SAVED_GATES, SAVED_EMISSIONS, SAVED_PLACES,
    SAVED_TOTALS, SAVED_NEAREST, ADDRESSES, VECTORS, STRENGTHS,
    D_GATES, D_EMISSIONS, D_START_READING, D_START_HIDDEN, D_START_CELL, D_START_KEYS, D_START_ACTIONS,
    D_ADDRESSES, D_VECTORS, D_STRENGTHS
  };
  real* free = room;
  real* d_gates = free;      free += ROWS * BackProduct::STRIDE;
  real* d_emission = free;   free += ROWS * EmissionBackProduct::STRIDE;
  real* d_reading = free;    free += ROWS * READ_HEADS * READING_STRIDE;
  real* d_hidden = free;     free += ROWS * CELLS;
  real* d_cell = free;       free += ROWS * CELLS;
  real* later_cell = free;   free += ROWS * CELLS;
  real* d_keys = free;       free += ROWS * HEADS * KEY;
  real* d_actions = free;    free += ROWS * HEADS * ACTION;
  real* d_places = free;     free += ROWS * WARPS_PER_ROW * READ_HEADS * (KEY + 1);
  real* fetched = free;      free += 2 * ROWS * FETCHED;
  free = room + BACKWARD_MEMORY;
  Memories memory = memories(block, &free, ADDRESSES), d_memory = memories(block, &free, D_ADDRESSES);

  BackProduct back_product;
  EmissionBackProduct emission_product;
  back_product.begin(block.share(RECURRENT, (long)JOINED * GATES));
  emission_product.begin(block.share(HEAD_WEIGHTS, (long)CELLS * EMISSION));

  clear(room, BACKWARD_MEMORY);
  for (int r = 0; r < ROWS; r++) {
    if (!has_memory(block, r)) continue;
    clear(d_memory.vectors + (long)r * slots * VECTOR_STRIDE, slots * VECTOR_STRIDE);
    clear(d_memory.addresses + (long)r * slots * KEY, slots * KEY);
    clear(d_memory.strengths + (long)r * slots, slots);
#if MEMORY_SHARED
    long problem = (long)block.run * arrays.batch + block.problem(r);
    const real* from = (const real*)arrays.at[VECTORS] + problem * slots * WIDTH;
    for (int i = thread; i < slots * VECTOR_STRIDE; i += THREADS) {
      int at = i % VECTOR_STRIDE;
      memory.vectors[r * slots * VECTOR_STRIDE + i] = at < WIDTH ? from[i / VECTOR_STRIDE * WIDTH + at] : real(0);
    }
    from = (const real*)arrays.at[ADDRESSES] + problem * slots * KEY;
    for (int i = thread; i < slots * KEY; i += THREADS) memory.addresses[r * slots * KEY + i] = from[i];
    from = (const real*)arrays.at[STRENGTHS] + problem * slots;
    for (int i = thread; i < slots; i += THREADS) memory.strengths[r * slots + i] = from[i];
#endif
  }
  __syncthreads();

  auto fetch_step = [&](int t) {
    real* to = fetched + t % 2 * ROWS * FETCHED;
    fetch(block, to + AT_GATES, block.row(SAVED_GATES, time, t, GATES), GATES, FETCHED);
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
  if (block.steps > 0) {
    fetch(block, later_cell, block.row(SAVED_CELL, time + 1, block.steps, CELLS), CELLS, CELLS);
    fetch_step(block.steps - 1);
  }

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
      for (int s = seen.first + part * 32 + lane; s < end; s += 32 * WARPS_PER_ROW) {
        const real* address = memory.address(r, s, slots);
        const real* vector = memory.vector(r, s, slots);
        real* d_vector = d_memory.vector(r, s, slots);
        real strength = *memory.strength(r, s, slots), d_strengths = 0, d_addresses[KEY], weight[READ_HEADS], gains[READ_HEADS];
        for (int d = 0; d < KEY; d++) d_addresses[d] = 0;
#pragma unroll
        for (int h = 0; h < READ_HEADS; h++) gains[h] = 0;
#if MEMORY_SHARED
#pragma unroll 5
        for (int at = 0; at < WIDTH; at += 4) {
          Quad v = *(const Quad*)(vector + at);
#pragma unroll
          for (int h = 0; h < READ_HEADS; h++) {
            Quad c = *(const Quad*)(d_reading + (r * READ_HEADS + h) * READING_STRIDE + at);
            gains[h] += v.a * c.a + v.b * c.b + v.c * c.c + v.d * c.d;
          }
        }
#else
        for (int at = 0; at < WIDTH; at++)
          for (int h = 0; h < READ_HEADS; h++) gains[h] += vector[at] * d_reading[(r * READ_HEADS + h) * READING_STRIDE + at];
#endif
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
        for (int d = 0; d < KEY; d++) d_memory.address(r, s, slots)[d] += d_addresses[d];
        *d_memory.strength(r, s, slots) += d_strengths;
#if MEMORY_SHARED
#pragma unroll 5
        for (int at = 0; at < WIDTH; at += 4) {
          Quad v = *(const Quad*)(d_vector + at);
#pragma unroll
          for (int h = 0; h < READ_HEADS; h++) {
            Quad c = *(const Quad*)(d_reading + (r * READ_HEADS + h) * READING_STRIDE + at);
            v.a += weight[h] * c.a;
            v.b += weight[h] * c.b;
            v.c += weight[h] * c.c;
            v.d += weight[h] * c.d;
          }
          *(Quad*)(d_vector + at) = v;
        }
#else
        for (int at = 0; at < WIDTH; at++)
          for (int h = 0; h < READ_HEADS; h++) d_vector[at] += weight[h] * d_reading[(r * READ_HEADS + h) * READING_STRIDE + at];
#endif
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
    const bool writing = t < block.turn && block.slot(t, WRITE_HEADS - 1) < slots;
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
        for (int d = 0; d < KEY; d++) d_key[d] += d_memory.address(r, slot, slots)[d];
        d_extra = *d_memory.strength(r, slot, slots);
      }
      pull_head(head, own + AT_EMISSION, own + AT_KEYS + head * KEY, own + AT_ACTIONS + head * ACTION, d_key, d_action, d_extra,
                d_emission + r * EmissionBackProduct::STRIDE, d_keys + (r * HEADS + head) * KEY,
                d_actions + (r * HEADS + head) * ACTION);
    }
    for (int i = thread; i < ROWS * WRITE_HEADS * WIDTH; i += THREADS) {
      int r = i / (WRITE_HEADS * WIDTH), at = i % (WRITE_HEADS * WIDTH);
      real cotangent = 0;
      if (writing && has_memory(block, r)) cotangent = d_memory.vector(r, block.slot(t, at / WIDTH), slots)[at % WIDTH];
      d_emission[r * EmissionBackProduct::STRIDE + VECTORS_AT + at] = pull_squash(now[r * FETCHED + AT_EMISSION + VECTORS_AT + at], cotangent);
    }
    __syncthreads();

    {  // Through the controller.
      real sums[ROWS];
      emission_product.run(d_emission, sums);
      real* out = block.row(D_GATES, time + 1, t, GATES);
#pragma unroll
      for (int r = 0; r < ROWS; r++) {
        if (!emission_product.owns(r)) continue;
        int at = emission_product.column;
        const real* own = now + r * FETCHED;
        real in = own[AT_GATES + at], forget = own[AT_GATES + CELLS + at], open = own[AT_GATES + 2 * CELLS + at];
        real candidate = own[AT_GATES + 3 * CELLS + at], before = own[AT_CELL + at];
        real d_h = sums[r] + d_hidden[r * CELLS + at] + own[AT_COTANGENT + at];
        real squashed = tanh(later_cell[r * CELLS + at]);
        real d_c = d_cell[r * CELLS + at] + d_h * open * (1 - squashed * squashed);
        d_c = pull_cell(d_c, forget * before + in * candidate);
        real found[4] = {pull_gate(d_c * candidate, in), pull_gate(d_c * before, forget), pull_gate(d_h * squashed, open),
                         d_c * in * (1 - candidate * candidate)};
#pragma unroll
        for (int g = 0; g < 4; g++) {
          d_gates[r * BackProduct::STRIDE + g * CELLS + at] = found[g];
          if (block.exists(r)) out[(long)(block.begin + r) * GATES + g * CELLS + at] = found[g];
        }
        d_cell[r * CELLS + at] = d_c * forget;
        later_cell[r * CELLS + at] = before;
      }
      for (int i = thread; i < ROWS * EMISSION; i += THREADS)
        if (block.exists(i / EMISSION))
          d_row[(long)block.begin * EMISSION + i] = d_emission[i / EMISSION * EmissionBackProduct::STRIDE + i % EMISSION];
    }
    __syncthreads();
    {  // To the reading and the hidden state before the step.
      real sums[ROWS];
      back_product.run(d_gates, sums);
#pragma unroll
      for (int r = 0; r < ROWS; r++) {
        if (!back_product.owns(r)) continue;
        int k = back_product.column;
        if (k < READING) d_reading[(r * READ_HEADS + k / WIDTH) * READING_STRIDE + k % WIDTH] = sums[r];
        else d_hidden[r * CELLS + k - READING] = sums[r];
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
  for (int i = thread; i < ROWS * CELLS; i += THREADS) {
    if (!block.exists(i / CELLS)) continue;
    block.row(D_START_HIDDEN, 1, 0, CELLS)[(long)block.begin * CELLS + i] = d_hidden[i];
    block.row(D_START_CELL, 1, 0, CELLS)[(long)block.begin * CELLS + i] = d_cell[i];
  }
  for (int i = thread; i < ROWS * HEADS * KEY; i += THREADS)
    if (block.exists(i / (HEADS * KEY))) block.row(D_START_KEYS, 1, 0, HEADS * KEY)[(long)block.begin * HEADS * KEY + i] = d_keys[i];
  for (int i = thread; i < ROWS * HEADS * ACTION; i += THREADS)
    if (block.exists(i / (HEADS * ACTION)))
      block.row(D_START_ACTIONS, 1, 0, HEADS * ACTION)[(long)block.begin * HEADS * ACTION + i] = d_actions[i];
#if MEMORY_SHARED
  for (int r = 0; r < ROWS && block.exists(r); r++) {
    long problem = (long)block.run * arrays.batch + block.begin + r;
    real* out = (real*)arrays.at[D_VECTORS] + problem * slots * WIDTH;
    for (int i = thread; i < slots * WIDTH; i += THREADS) out[i] = d_memory.vector(r, i / WIDTH, slots)[i % WIDTH];
    out = (real*)arrays.at[D_ADDRESSES] + problem * slots * KEY;
    for (int i = thread; i < slots * KEY; i += THREADS) out[i] = d_memory.addresses[(long)r * slots * KEY + i];
    out = (real*)arrays.at[D_STRENGTHS] + problem * slots;
    for (int i = thread; i < slots; i += THREADS) out[i] = d_memory.strengths[(long)r * slots + i];
  }
#endif
  // Rows of gates are of the step that they belong to, rows of emissions of the step after it.
  clear_row(block, block.row(D_EMISSIONS, time + 1, 0, EMISSION), EMISSION);
  for (int t = block.steps; t < time; t++) clear_row(block, block.row(D_EMISSIONS, time + 1, t + 1, EMISSION), EMISSION);
  for (int t = block.steps; t <= time; t++) clear_row(block, block.row(D_GATES, time + 1, t, GATES), GATES);
}

// The recurrence of a Lie access machine: all steps of a block of problems, forward and backward, as two kernels.
//
// A block of ROWS problems of one run (a machine with weights of its own) lives in one multiprocessor for all its steps.
// Matrix units multiply, with weights that threads hold in registers where they fit; the state is in shared memory, and
// so is the memory of the machine where it fits. What a step needs from global memory is fetched while the step before is
// computed.
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
#define GROUPS ((CELLS + 7) / 8)  // of cells: each has a warp
#define WARPS_PER_ROW (WARPS > ROWS ? WARPS / ROWS : 1)
#define ROW_TURNS ((ROWS * WARPS_PER_ROW + WARPS - 1) / WARPS)
#define QUADS ((WIDTH + 3) / 4)
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

// ---- Products of rows with a matrix of K rows

// A warp's share of a product: TILES times eight columns. A lane gets the sums of row lane / 4 and of the columns
// 2 (lane % 4) and the one after it, of every tile.
enum WeightsPlace { IN_REGISTERS, IN_SHARED_MEMORY, IN_GLOBAL_MEMORY };

template <int K, int TILES, WeightsPlace PLACE>
struct Product {
  static const int STEPS = (K + 7) / 8;
  static const int STRIDE = STEPS * 8 + 4;  // of the rows in shared memory, which are zero from K on; meets all banks
  static const int HELD = 2 * TILES * STEPS;  // weights per thread
  int size;
  const real* matrix;
  int columns[TILES];  // of which this lane holds weights; -1 where there is none
  Weight held[PLACE == IN_REGISTERS ? HELD : 1];
  Weight* shared;  // the threads' weights, side by side

  __device__ inline real weight(int k, int tile) const {
    return columns[tile] >= 0 && k < K ? matrix[(long)k * size + columns[tile]] : real(0);
  }

  // To be called after `columns` are set; `room` is for weights in shared memory.
  __device__ inline void begin(const real* from, int columns_in_all, real* room) {
    matrix = from;
    size = columns_in_all;
    shared = (Weight*)room + threadIdx.x;
    int k = threadIdx.x % 4;
    if (PLACE == IN_GLOBAL_MEMORY) return;
#pragma unroll
    for (int step = 0; step < STEPS; step++) {
#pragma unroll
      for (int tile = 0; tile < TILES; tile++) {
#pragma unroll
        for (int half = 0; half < 2; half++) {
          Weight one = rounded(weight(8 * step + k + 4 * half, tile));
          int at = 2 * (step * TILES + tile) + half;
          if (PLACE == IN_REGISTERS) held[at] = one;
          else shared[at * THREADS] = one;
        }
      }
    }
  }

  __device__ inline Weight own(int at) const { return PLACE == IN_REGISTERS ? held[at] : shared[at * THREADS]; }

  __device__ inline void run(const real* rows, real (*sums)[4]) const {
    int lane = threadIdx.x % 32, k = lane % 4;
    const real* row = rows + lane / 4 * STRIDE + k;
    const bool exists = lane / 4 < ROWS;
    real others[TILES][4];  // of every second step: two short chains of products instead of a long one
#pragma unroll
    for (int tile = 0; tile < TILES; tile++)
#pragma unroll
      for (int i = 0; i < 4; i++) sums[tile][i] = others[tile][i] = 0;
    if (PLACE == IN_GLOBAL_MEMORY) {
#pragma unroll 4
      for (int step = 0; step < STEPS; step++) {
        real low = exists ? row[8 * step] : real(0), high = exists ? row[8 * step + 4] : real(0);
#pragma unroll
        for (int tile = 0; tile < TILES; tile++)
          multiply_numbers(sums[tile], low, high, weight(8 * step + k, tile), weight(8 * step + k + 4, tile));
      }
    } else {
#pragma unroll
      for (int step = 0; step < STEPS; step++) {
        Weight low = rounded(exists ? row[8 * step] : real(0)), high = rounded(exists ? row[8 * step + 4] : real(0));
#pragma unroll
        for (int tile = 0; tile < TILES; tile++) {
          int at = 2 * (step * TILES + tile);
          multiply(step % 2 ? others[tile] : sums[tile], low, high, own(at), own(at + 1));
        }
      }
    }
#pragma unroll
    for (int tile = 0; tile < TILES; tile++)
#pragma unroll
      for (int i = 0; i < 2; i++) sums[tile][i] += others[tile][i];
  }
};

typedef Product<JOINED, 4, GATE_WEIGHTS> GateProduct;  // a tile per gate, of the same cells
typedef Product<CELLS, EMISSION_TILES, EMISSION_WEIGHTS> EmissionProduct;
typedef Product<GATES, BACK_TILES, BACK_WEIGHTS> BackProduct;                   // transposed
typedef Product<EMISSION, 1, EMISSION_BACK_WEIGHTS> EmissionBackProduct;        // transposed

// The columns of a product whose tiles are shared out over all warps, one after the other.
template <class P, int TILES>
__device__ inline void share_out(P& product, int columns) {
  int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
#pragma unroll
  for (int tile = 0; tile < TILES; tile++) {
    int column = 8 * (warp + tile * WARPS) + lane / 4;
    product.columns[tile] = column < columns ? column : -1;
  }
}

// ---- A block of problems

struct Window { int first, end; };

struct Block {
  const Arrays& arrays;
  int run, begin;  // which run, and the first problem of the block
  int steps, turn;
  Window start;
  const int* limits;  // where every problem's own writing ends, in shared memory

  __device__ inline Block(const Arrays& arrays, int* room) : arrays(arrays) {
    run = blockIdx.y;
    begin = blockIdx.x * ROWS;
    const int* numbers = (const int*)arrays.at[0] + 4 * run;
    steps = numbers[0];
    turn = numbers[1];
    start.first = numbers[2];
    start.end = numbers[3];
    if (threadIdx.x < ROWS) room[threadIdx.x] = ((const int*)arrays.at[1])[(long)run * arrays.batch + problem(threadIdx.x)];
    limits = room;
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
    return window.end < limits[row] ? window.end : limits[row];
  }
};

// Copies `size` numbers per problem into shared memory, where a problem has `stride` of them, without waiting.
__device__ inline void fetch(const Block& block, real* to, const real* from, int size, int stride) {
  for (int i = threadIdx.x; i < ROWS * size; i += THREADS)
    copy_async(to + i / size * stride + i % size, from + (long)block.problem(i / size) * size + i % size);
}

// The same for sizes and strides that are multiples of four.
__device__ inline void fetch_quads(const Block& block, real* to, const real* from, int size, int stride) {
  for (int i = threadIdx.x; i < ROWS * size / 4; i += THREADS) {
    int row = i / (size / 4), at = 4 * (i % (size / 4));
    copy_quad_async(to + row * stride + at, from + (long)block.problem(row) * size + at);
  }
}

__device__ inline void clear(real* what, int size) {
  for (int i = threadIdx.x; i < size; i += THREADS) what[i] = 0;
}

__device__ inline void clear_row(const Block& block, real* row, int size) {
  for (int i = threadIdx.x; i < ROWS * size; i += THREADS)
    if (block.exists(i / size)) row[(long)block.begin * size + i] = 0;
}

// A problem's memories; vectors are STRIDE numbers apart.
template <int STRIDE>
struct Memories {
  real *addresses, *vectors, *strengths;
  int slots;

  __device__ inline real* address(int row, int slot) const { return addresses + (row * slots + slot) * KEY; }
  __device__ inline real* vector(int row, int slot) const { return vectors + (row * slots + slot) * STRIDE; }
  __device__ inline real* strength(int row, int slot) const { return strengths + row * slots + slot; }
  __device__ inline Quad quad(int row, int slot, int at) const {
    const real* from = vector(row, slot) + at;
    if (STRIDE % 4 == 0) return *(const Quad*)from;
    return Quad{from[0], at + 1 < WIDTH ? from[1] : real(0), at + 2 < WIDTH ? from[2] : real(0), at + 3 < WIDTH ? from[3] : real(0)};
  }
  __device__ inline void put_quad(int row, int slot, int at, Quad value) const {
    real* to = vector(row, slot) + at;
    if (STRIDE % 4 == 0) {
      *(Quad*)to = value;
    } else {
      to[0] = value.a;
      if (at + 1 < WIDTH) to[1] = value.b;
      if (at + 2 < WIDTH) to[2] = value.c;
      if (at + 3 < WIDTH) to[3] = value.d;
    }
  }
};

// Those in the arrays `which`, `which` + 1, ... of global memory.
__device__ inline Memories<WIDTH> global_memories(const Block& block, int which) {
  long slots = block.arrays.slots, problems = (long)block.run * block.arrays.batch + block.begin;
  Memories<WIDTH> found;
  found.addresses = (real*)block.arrays.at[which] + problems * slots * KEY;
  found.vectors = (real*)block.arrays.at[which + 1] + problems * slots * WIDTH;
  found.strengths = (real*)block.arrays.at[which + 2] + problems * slots;
  found.slots = block.arrays.slots;
  return found;
}

// Those that a kernel writes to: in shared memory, if they fit there.
#if MEMORY_SHARED
typedef Memories<VECTOR_STRIDE> OwnMemories;
__device__ inline OwnMemories own_memories(const Block& block, real* room, int which) {
  OwnMemories found;
  found.slots = block.arrays.slots;
  found.vectors = room;
  found.addresses = found.vectors + ROWS * found.slots * VECTOR_STRIDE;
  found.strengths = found.addresses + ROWS * found.slots * KEY;
  return found;
}
#else
typedef Memories<WIDTH> OwnMemories;
__device__ inline OwnMemories own_memories(const Block& block, real* room, int which) { return global_memories(block, which); }
#endif

// Whether a row has memories of its own: in global memory those that do not exist have none.
__device__ inline bool has_memory(const Block& block, int row) { return MEMORY_SHARED || block.exists(row); }

// Copies the memories of the arrays `which`, `which` + 1, ... to where a kernel has its own.
__device__ inline void get_memories(const Block& block, const OwnMemories& memory, int which) {
  const int stride = MEMORY_SHARED ? VECTOR_STRIDE : WIDTH;
  Memories<WIDTH> from = global_memories(block, which);
  for (int r = 0; r < ROWS; r++) {
    if (!has_memory(block, r)) continue;
    int problem = block.problem(r) - block.begin;
    for (int i = threadIdx.x; i < memory.slots * stride; i += THREADS)
      memory.vector(r, 0)[i] = i % stride < WIDTH ? from.vector(problem, i / stride)[i % stride] : real(0);
    for (int i = threadIdx.x; i < memory.slots * KEY; i += THREADS) memory.address(r, 0)[i] = from.address(problem, 0)[i];
    for (int i = threadIdx.x; i < memory.slots; i += THREADS) *memory.strength(r, i) = *from.strength(problem, i);
  }
}

// Copies memories in shared memory to the arrays `which`, `which` + 1, ...
__device__ inline void put_memories(const Block& block, const OwnMemories& memory, int which) {
#if MEMORY_SHARED
  Memories<WIDTH> to = global_memories(block, which);
  for (int r = 0; r < ROWS && block.exists(r); r++) {
    for (int i = threadIdx.x; i < to.slots * WIDTH; i += THREADS) to.vector(r, 0)[i] = memory.vector(r, i / WIDTH)[i % WIDTH];
    for (int i = threadIdx.x; i < to.slots * KEY; i += THREADS) to.address(r, 0)[i] = memory.address(r, 0)[i];
    for (int i = threadIdx.x; i < to.slots; i += THREADS) *to.strength(r, i) = *memory.strength(r, i);
  }
#endif
}

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
  Block block(arrays, (int*)(room + LIMITS_AT));
  const int time = arrays.time, slots = arrays.slots, thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
  enum {
    INPUTS = 2, RECURRENT, HEAD_WEIGHTS, HEAD_BIASES, START_READING, START_HIDDEN, START_CELL, START_KEYS, START_ACTIONS,
    OLD_ADDRESSES, OLD_VECTORS, OLD_STRENGTHS,
    SAVED_READING, SAVED_HIDDEN, SAVED_CELL, SAVED_KEYS, SAVED_ACTIONS, SAVED_GATES, SAVED_EMISSIONS, SAVED_PLACES,
    SAVED_TOTALS, SAVED_NEAREST, ADDRESSES, VECTORS, STRENGTHS
  };
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
    if (block.exists(r)) {
      block.row(SAVED_HIDDEN, time + 1, 0, CELLS)[place] = h;
      block.row(SAVED_CELL, time + 1, 0, CELLS)[place] = c;
    }
  }
#pragma unroll
  for (int i = 0; i < 2; i++)
    if (row < ROWS && first_cell + i < CELLS)
      cell[i] = block.row(START_CELL, 1, 0, CELLS)[(long)block.problem(row) * CELLS + first_cell + i];
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
    const bool writing = t < block.turn && block.slot(t, WRITE_HEADS - 1) < slots;
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
      bool settles = SETTLING_RATIO * near.first < near.second && near.second < INFINITY;
      for (int d = 0; d < KEY; d++) {
        if (settles) key[d] = memory.address(r, near.slot)[d];
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
  FETCHED = (AT_READING + READING + 3) / 4 * 4
};

extern "C" __global__ void __launch_bounds__(THREADS, 1) backward(Arrays arrays) {
  SHARED_MEMORY(room);
  Block block(arrays, (int*)(room + LIMITS_AT));
  const int time = arrays.time, slots = arrays.slots, thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
  enum {
    COTANGENTS = 2, RECURRENT, HEAD_WEIGHTS,
    SAVED_READING, SAVED_HIDDEN, SAVED_CELL, SAVED_KEYS, SAVED_ACTIONS, SAVED_GATES, SAVED_EMISSIONS, SAVED_PLACES,
    SAVED_TOTALS, SAVED_NEAREST, ADDRESSES, VECTORS, STRENGTHS,
    D_GATES, D_EMISSIONS, D_START_READING, D_START_HIDDEN, D_START_CELL, D_START_KEYS, D_START_ACTIONS,
    D_ADDRESSES, D_VECTORS, D_STRENGTHS
  };
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
      real* out = block.row(D_GATES, time + 1, t, GATES);
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
  for (int t = block.steps; t <= time; t++) clear_row(block, block.row(D_GATES, time + 1, t, GATES), GATES);
}

// GPU: how a thread block works on its problems (division of labour, memory layout, the machine's memories).
//
// A block of ROWS problems of one run lives in one multiprocessor for all its steps. Matrix units multiply, with weights
// that threads hold in registers where they fit; the state is in shared memory, and so is the memory of the machine
// where it fits. What a step needs from global memory is fetched while the step before is computed.

#define WARPS (THREADS / 32)
#define GROUPS ((CELLS + 7) / 8)  // of cells: each has a warp
#define WARPS_PER_ROW (WARPS > ROWS ? WARPS / ROWS : 1)
#define ROW_TURNS ((ROWS * WARPS_PER_ROW + WARPS - 1) / WARPS)
#define QUADS ((WIDTH + 3) / 4)
#define ALL_LANES 0xffffffffu

struct ALIGNED Quad { real a, b, c, d; };  // read at once

__device__ inline real sum_of_lanes(real x) {
  for (int apart = 16; apart; apart /= 2) x += __shfl_xor_sync(ALL_LANES, x, apart);
  return x;
}

__device__ inline real smallest_of_lanes(real x) {
  for (int apart = 16; apart; apart /= 2) x = smaller(x, __shfl_xor_sync(ALL_LANES, x, apart));
  return x;
}

struct Block : Run {
  int begin;  // the first problem of the block
  const int* limits;  // where every problem's own writing ends, in shared memory

  __device__ inline Block(const Arrays& arrays, int* room) : Run(arrays, blockIdx.y) {
    begin = blockIdx.x * ROWS;
    if (threadIdx.x < ROWS) room[threadIdx.x] = limit(problem(threadIdx.x));
    limits = room;
  }

  // The problem of a row: where there are too few to fill the block, the last one again.
  __device__ inline int problem(int row) const { return begin + row < arrays.batch ? begin + row : arrays.batch - 1; }
  __device__ inline bool exists(int row) const { return begin + row < arrays.batch; }
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
  long slots = block.arrays.slots, problems = (long)block.index * block.arrays.batch + block.begin;
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

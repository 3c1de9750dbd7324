// A block of problems: where its numbers are, what it remembers when, and its memories.

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

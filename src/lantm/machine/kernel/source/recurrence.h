// GPU and CPU: data layout and definitions shared by both passes of the recurrence, for the problems of one run (one set of
// weights).
//
// Sizes and switches are macros, and the formulas of heads, gates and read weights are functions, all of which
// lantm/machine/kernel/program.py puts before this file. `real` is float, or double in tests on a CPU. On a GPU it is
// followed by block.h, products.h, forward.cu and backward.cu; on a CPU by cpu_products.h, cpu_forward.h and
// cpu_backward.h.

struct Arrays {
  void* at[34];  // in the order of lantm/machine/kernel/calls.py
  int time, batch, slots;
};

// Where in `Arrays` everything is, forward and backward.
#define FORWARD_ARRAYS                                                                                                  \
  enum {                                                                                                                \
    INPUTS = 2, RECURRENT, HEAD_WEIGHTS, HEAD_BIASES, START_READING, START_HIDDEN, START_CELL, START_KEYS, START_ACTIONS,\
    OLD_ADDRESSES, OLD_VECTORS, OLD_STRENGTHS,                                                                          \
    SAVED_READING, SAVED_HIDDEN, SAVED_CELL, SAVED_KEYS, SAVED_ACTIONS, SAVED_GATES, SAVED_EMISSIONS, SAVED_PLACES,      \
    SAVED_TOTALS, SAVED_NEAREST, ADDRESSES, VECTORS, STRENGTHS                                                          \
  }
#define BACKWARD_ARRAYS                                                                                                 \
  enum {                                                                                                                \
    COTANGENTS = 2, RECURRENT, HEAD_WEIGHTS,                                                                            \
    SAVED_READING, SAVED_HIDDEN, SAVED_CELL, SAVED_KEYS, SAVED_ACTIONS, SAVED_GATES, SAVED_EMISSIONS, SAVED_PLACES,      \
    SAVED_TOTALS, SAVED_NEAREST, ADDRESSES, VECTORS, STRENGTHS,                                                         \
    D_GATES, D_EMISSIONS, D_START_READING, D_START_HIDDEN, D_START_CELL, D_START_KEYS, D_START_ACTIONS,                  \
    D_ADDRESSES, D_VECTORS, D_STRENGTHS                                                                                 \
  }

#define GATES (4 * CELLS)
#define READING (READ_HEADS * WIDTH)
#define JOINED (READING + CELLS)
#define HEADS (READ_HEADS + WRITE_HEADS)

struct Window { int first, end; };

// A run: its share of all arrays, and what its problems remember when.
struct Run {
  const Arrays& arrays;
  int index;
  int steps, turn;
  Window start;

  __device__ inline Run(const Arrays& arrays, int index) : arrays(arrays), index(index) {
    const int* numbers = (const int*)arrays.at[0] + 4 * index;
    steps = numbers[0];
    turn = numbers[1];
    start.first = numbers[2];
    start.end = numbers[3];
  }

  // Where a problem's own writing ends: what there is no room for is not written, and not read.
  __device__ inline int limit(int problem) const {
    int found = ((const int*)arrays.at[1])[(long)index * arrays.batch + problem];
    return found < arrays.slots ? found : arrays.slots;
  }

  // Its share of an array of so many numbers for each run.
  __device__ inline real* share(int which, long size) const { return (real*)arrays.at[which] + index * size; }

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
  __device__ inline bool writes(int t) const { return t < turn && slot(t, WRITE_HEADS - 1) < arrays.slots; }
};

// The two nearest of some memories: their squared distances, and where the nearest is.
struct Nearest { real first, second; int slot; };

__device__ inline Nearest nearer(Nearest a, Nearest b) {
  bool swap = b.first < a.first || (b.first == a.first && b.slot < a.slot);
  Nearest found = swap ? b : a;
  found.second = smaller(smaller(a.second, b.second), larger(a.first, b.first));
  return found;
}

// Whether a head settles on the nearest memory.
__device__ inline bool settles(Nearest near) { return SETTLING_RATIO * near.first < near.second && near.second < INFINITY; }

// The recurrence of a Lie access machine: all steps of a block of problems, forward and backward, as two kernels.
//
// A block of ROWS problems of one run (a machine with weights of its own) lives in one multiprocessor for all its steps.
// Matrix units multiply, with weights that threads hold in registers where they fit; the state is in shared memory, and
// so is the memory of the machine where it fits. What a step needs from global memory is fetched while the step before is
// computed.
//
// Sizes and switches are macros, and the formulas of heads, gates and read weights are functions, all of which
// lantm/machine/kernel/program.py puts before this file. It is followed by products.h, block.h, forward.cu and backward.cu. `real` is float, or double where the kernels are emulated.

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

__device__ inline real sum_of_lanes(real x) {
  for (int apart = 16; apart; apart /= 2) x += __shfl_xor_sync(ALL_LANES, x, apart);
  return x;
}

__device__ inline real smallest_of_lanes(real x) {
  for (int apart = 16; apart; apart /= 2) x = smaller(x, __shfl_xor_sync(ALL_LANES, x, apart));
  return x;
}

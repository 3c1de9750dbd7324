// GPU: products of rows in shared memory with a matrix of K rows in global memory.

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

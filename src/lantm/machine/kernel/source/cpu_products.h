// CPU: products of rows with a matrix, in vector registers.

#if defined(__AVX512F__)
#define LANES (64 / (int)sizeof(real))
#define TILE_ROWS 8
#elif defined(__AVX__)
#define LANES (32 / (int)sizeof(real))
#define TILE_ROWS 4
#else
#define LANES (16 / (int)sizeof(real))
#define TILE_ROWS 4
#endif
#define TILE_VECTORS 3  // a tile of a product is so many rows by so many vectors: its sums fill the registers

typedef real Lanes __attribute__((vector_size(LANES * sizeof(real)), aligned(sizeof(real)), may_alias));

inline int in_tiles(int rows) { return (rows + TILE_ROWS - 1) / TILE_ROWS * TILE_ROWS; }
inline int in_lanes(int columns) { return (columns + LANES - 1) / LANES * LANES; }

// A matrix, its columns in panels of a tile's width, with zeros beyond the last column.
struct Matrix {
  int inner, columns;
  std::vector<real> packed;

  Matrix(const real* from, int inner, int columns) : inner(inner), columns(columns), packed((size_t)inner * in_lanes(columns)) {
    real* to = packed.data();
    for (int first = 0; first < columns; first += TILE_VECTORS * LANES) {
      int width = std::min(TILE_VECTORS * LANES, in_lanes(columns) - first), there = std::min(width, columns - first);
      for (int k = 0; k < inner; k++, to += width) memcpy(to, from + (long)k * columns + first, there * sizeof(real));
    }
  }

  // Rows `stride` apart, their number a multiple of TILE_ROWS, to rows of in_lanes(columns) numbers.
  void multiply(const real* rows, int stride, int count, real* out) const {
    const real* panel = packed.data();
    for (int first = 0; first < columns; first += TILE_VECTORS * LANES) {
      int vectors = std::min((int)TILE_VECTORS, (in_lanes(columns) - first) / LANES);
      if (vectors == 3) multiply_panel<3>(rows, stride, count, panel, out + first);
      else if (vectors == 2) multiply_panel<2>(rows, stride, count, panel, out + first);
      else multiply_panel<1>(rows, stride, count, panel, out + first);
      panel += (long)inner * vectors * LANES;
    }
  }

  template <int VECTORS>
  void multiply_panel(const real* rows, int stride, int count, const real* panel, real* out) const {
    const int out_stride = in_lanes(columns);
    for (int row = 0; row < count; row += TILE_ROWS) {
      Lanes sums[TILE_ROWS][VECTORS] = {};
      const real* of_row = rows + (long)row * stride;
      for (int k = 0; k < inner; k++) {
        const Lanes* weights = (const Lanes*)(panel + (long)k * VECTORS * LANES);
        for (int r = 0; r < TILE_ROWS; r++)
          for (int v = 0; v < VECTORS; v++) sums[r][v] += of_row[(long)r * stride + k] * weights[v];
      }
      for (int r = 0; r < TILE_ROWS; r++)
        for (int v = 0; v < VECTORS; v++) ((Lanes*)(out + (long)(row + r) * out_stride))[v] = sums[r][v];
    }
  }
};

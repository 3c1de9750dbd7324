// CPU: products, sums and lookups over all steps outside of the recurrence, without the padding. The first array holds the
// number of steps.

// Adds to `sums` the products of `rows` numbers each of TILE_ROWS columns of `a` with vectors of `b`.
template <int VECTORS>
inline void add_products(const real* a, long a_stride, const int* columns, const real* b, long b_stride, int rows,
                         Lanes (*sums)[TILE_VECTORS]) {
  Lanes own[TILE_ROWS][VECTORS];
  for (int i = 0; i < TILE_ROWS; i++)
    for (int v = 0; v < VECTORS; v++) own[i][v] = sums[i][v];
  for (int row = 0; row < rows; row++, a += a_stride, b += b_stride)
    for (int i = 0; i < TILE_ROWS; i++)
      for (int v = 0; v < VECTORS; v++) own[i][v] += a[columns[i]] * ((const Lanes*)b)[v];
  for (int i = 0; i < TILE_ROWS; i++)
    for (int v = 0; v < VECTORS; v++) sums[i][v] = own[i][v];
}

// Columns `begin` and some more of a group's `a`, with all of its `b`: out[i][j] = sum of a[row][i] b[row][j]; and the sums
// of the columns of b.
//
// The sizes are those of the batch, the groups that it consists of, and of a and of b: steps, columns, and the first step
// that counts. Groups of all runs are counted through.
static void sum_products(void** at, const int* sizes, int counted, int begin, int count) {
  const int batch = sizes[0], groups = sizes[1], a_steps = sizes[2], a_columns = sizes[3], a_first = sizes[4], b_steps = sizes[5],
            b_columns = sizes[6], b_first = sizes[7], run = counted / groups, group = counted % groups, in_group = batch / groups;
  const int steps = ((const int*)at[0])[run];
  const real* a = (const real*)at[1] + (((long)run * a_steps + a_first) * batch + (long)group * in_group) * a_columns;
  const real* b = (const real*)at[2] + (((long)run * b_steps + b_first) * batch + (long)group * in_group) * b_columns;
  real* out = (real*)at[3] + (long)counted * a_columns * b_columns;
  real* column_sums = (real*)at[4] + (long)counted * b_columns;
  // A group that is all of the batch has its rows one after the other; of others, those of one problem are as far apart as
  // steps are.
  const bool whole = groups == 1;
  const long rows = whole ? (long)steps * batch : steps, apart = whole ? 1 : batch;
  const int problems = whole ? 1 : in_group;
  const int at_once = 128;  // rows that are multiplied while they are in the cache
  const int tiles = in_tiles(count) / TILE_ROWS;
  std::vector<real> padded(at_once * TILE_VECTORS * LANES);
  std::vector<Lanes> sums(tiles * TILE_ROWS * TILE_VECTORS);
  for (int first = 0; first < b_columns; first += TILE_VECTORS * LANES) {
    const int width = std::min((int)TILE_VECTORS * LANES, in_lanes(b_columns - first)), there = std::min(width, b_columns - first);
    std::fill(sums.begin(), sums.end(), Lanes{});
    real own_sums[TILE_VECTORS * LANES] = {};
    for (long row = 0; row < problems * rows; row += at_once) {
      // Whole problems follow each other where there are several; a piece of rows is of one of them.
      const long problem = row / rows, within = row % rows;
      const int some = (int)std::min((long)at_once, rows - within);
      const real* of_rows = a + (within * apart + problem) * a_columns;
      const real* panel = b + (within * apart + problem) * b_columns + first;
      long stride = apart * b_columns;
      if (begin == 0)
        for (int i = 0; i < some; i++)
          for (int k = 0; k < there; k++) own_sums[k] += panel[i * stride + k];
      if (there < width) {  // the last vector would reach beyond the last row
        for (int i = 0; i < some; i++) memcpy(&padded[i * width], panel + i * stride, there * sizeof(real));
        panel = padded.data();
        stride = width;
      }
      for (int tile = 0; tile < tiles; tile++) {
        int columns[TILE_ROWS];  // the last ones again, where there are no more
        for (int i = 0; i < TILE_ROWS; i++) columns[i] = begin + std::min(tile * TILE_ROWS + i, count - 1);
        Lanes(*own)[TILE_VECTORS] = (Lanes(*)[TILE_VECTORS]) & sums[tile * TILE_ROWS * TILE_VECTORS];
        const long a_stride = apart * a_columns;
        if (width == 3 * LANES) add_products<3>(of_rows, a_stride, columns, panel, stride, some, own);
        else if (width == 2 * LANES) add_products<2>(of_rows, a_stride, columns, panel, stride, some, own);
        else add_products<1>(of_rows, a_stride, columns, panel, stride, some, own);
      }
      row -= at_once - some;  // the next piece begins where this one has ended
    }
    for (int i = 0; i < count; i++)
      memcpy(out + (long)(begin + i) * b_columns + first, &sums[i * TILE_VECTORS], there * sizeof(real));
    if (begin == 0) memcpy(column_sums + first, own_sums, there * sizeof(real));
  }
}

// Of a table with so many rows, the one that a symbol names, as JAX has it: symbols below zero count from the end, and those
// that name none the row that is nearest.
inline long row_of(int symbol, int rows) { return std::clamp(symbol < 0 ? symbol + rows : symbol, 0, rows - 1); }

// The rows of a table that symbols name, for some problems: out[t][problem] = table[symbols[t][problem]].
static void look_up(void** at, const int* sizes, int run, int begin, int count) {
  const int batch = sizes[0], time = sizes[1], columns = sizes[2], symbols_in_all = sizes[3], steps = ((const int*)at[0])[run];
  const real* table = (const real*)at[1] + (long)run * symbols_in_all * columns;
  const int* symbols = (const int*)at[2] + (long)run * time * batch;
  real* out = (real*)at[3] + (long)run * time * batch * columns;
  for (int t = 0; t < steps; t++)
    for (long i = (long)t * batch + begin; i < (long)t * batch + begin + count; i++)
      memcpy(out + i * columns, table + row_of(symbols[i], symbols_in_all) * columns, columns * sizeof(real));
}

// Some columns of the gradient of a table: the sums of the rows that were looked up.
static void sum_rows(void** at, const int* sizes, int run, int begin, int count) {
  const int batch = sizes[0], time = sizes[1], columns = sizes[2], symbols_in_all = sizes[3];
  const long rows = (long)((const int*)at[0])[run] * batch;
  const real* from = (const real*)at[1] + (long)run * time * batch * columns + begin;
  const int* symbols = (const int*)at[2] + (long)run * time * batch;
  real* out = (real*)at[3] + (long)run * symbols_in_all * columns + begin;
  for (int symbol = 0; symbol < symbols_in_all; symbol++) memset(out + (long)symbol * columns, 0, count * sizeof(real));
  for (long row = 0; row < rows; row++) {
    real* __restrict to = out + row_of(symbols[row], symbols_in_all) * columns;
    const real* __restrict own = from + row * columns;
    for (int i = 0; i < count; i++) to[i] += own[i];
  }
}

// Rows times a matrix and plus a bias, for some steps. Those that were not run are zeros if that is asked for.
static void multiply_rows(void** at, const int* sizes, int run, int begin, int count) {
  const int batch = sizes[0], time = sizes[1], inner = sizes[2], columns = sizes[3], zeros = sizes[4], stride = in_lanes(columns);
  const int some = std::max(0, std::min(count, ((const int*)at[0])[run] - begin));
  const Matrix matrix((const real*)at[1] + (long)run * inner * columns, inner, columns);
  const real* bias = (const real*)at[2] + (long)run * columns;
  const real* rows = (const real*)at[3] + ((long)run * time + begin) * batch * inner;
  real* out = (real*)at[4] + ((long)run * time + begin) * batch * columns;
  const int at_once = 8 * TILE_ROWS;
  std::vector<real> padded(at_once * inner), products(at_once * stride);
  for (int row = 0; row < some * batch; row += at_once) {
    const int here = std::min(at_once, some * batch - row);
    const real* from = rows + (long)row * inner;
    if (here < at_once) from = (const real*)memcpy(padded.data(), from, (size_t)here * inner * sizeof(real));
    matrix.multiply(from, inner, in_tiles(here), products.data());
    for (int r = 0; r < here; r++)
      for (int i = 0; i < columns; i++) out[(long)(row + r) * columns + i] = products[r * stride + i] + bias[i];
  }
  if (zeros) memset(out + (long)some * batch * columns, 0, (size_t)(count - some) * batch * columns * sizeof(real));
}

extern "C" void run_piece(int kind, void** at, int, const int* sizes, int run, int begin, int count) {
  void (*const kinds[])(void**, const int*, int, int, int) = {
      sum_products, look_up, sum_rows, multiply_rows, add_noise, surprises};
  kinds[kind](at, sizes, run, begin, count);
}

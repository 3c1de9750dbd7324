// CPU: the surprise of symbols under a softmax of logits, and its gradient, without the padding. The first array holds the
// number of steps.

// For some steps: the negative log likelihood of each problem's symbol, and the gradient of the mean by the logits. A symbol's
// share in the mean is given; where it is zero, logits are not read and the result is zero. As with one_hot, a symbol that
// none of the columns stands for has a logit of zero, and where any logit is infinite, the likelihood is not a number: such a
// step of training is skipped.
static void surprises(void** at, const int* sizes, int run, int begin, int count) {
  const int batch = sizes[0], time = sizes[1], columns = sizes[2], end = std::min(begin + count, ((const int*)at[0])[run]);
  const long first = ((long)run * time + begin) * batch;
  std::fill_n((real*)at[4] + first, (long)count * batch, (real)0);
  for (long row = first; row < ((long)run * time + end) * batch; row++) {
    const real* __restrict logits = (const real*)at[1] + row * columns;
    const int symbol = ((const int*)at[2])[row];
    const real share = ((const real*)at[3])[row];
    real* surprise = (real*)at[4] + row;
    real* __restrict gradient = (real*)at[5] + row * columns;
    if (share == 0) {
      memset(gradient, 0, columns * sizeof(real));
      continue;
    }
    real largest = logits[0], total = 0, chosen = 0;
    _Pragma("omp simd reduction(max : largest) reduction(+ : chosen)")
    for (int i = 0; i < columns; i++) {
      largest = larger(largest, logits[i]);
      chosen += (i == symbol) * logits[i];
    }
    _Pragma("omp simd reduction(+ : total)")
    for (int i = 0; i < columns; i++) total += gradient[i] = exp(logits[i] - largest);
    VECTORISED
    for (int i = 0; i < columns; i++) gradient[i] *= share / total;
    if (0 <= symbol && symbol < columns) gradient[symbol] -= share;
    *surprise = log(total) + largest - chosen;
  }
}

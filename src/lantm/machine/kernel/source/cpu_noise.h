// CPU: normal random numbers, those of jax.random.normal in single precision: the same bits, the same polynomials.

// A block of Threefry-2x32, in 20 rounds: two words of a counter become two random words (Salmon et al., 2011).
struct Words { uint32_t first, second; };

inline Words threefry(Words key, Words counter) {
  const uint32_t keys[3] = {key.first, key.second, key.first ^ key.second ^ 0x1BD11BDAu};
  const int turns[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  uint32_t a = counter.first + keys[0], b = counter.second + keys[1];
#pragma GCC unroll 5
  for (int i = 0; i < 5; i++) {
#pragma GCC unroll 4
    for (int k = 0; k < 4; k++) {
      a += b;
      b = (b << turns[i % 2][k] | b >> (32 - turns[i % 2][k])) ^ a;
    }
    a += keys[(i + 1) % 3];
    b += keys[(i + 2) % 3] + i + 1;
  }
  return {a, b};
}

// The logarithm of a positive normal number: of a number from 0.7 to 1.4 by a polynomial, and a power of two.
inline float quick_log(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  const uint32_t above = bits - 0x3F3504F3u;  // 0.707
  const int power = (int)above >> 23;
  bits = (above & 0x007FFFFFu) + 0x3F3504F3u;
  float r;
  memcpy(&r, &bits, sizeof r);
  r -= 1;
  float sum = 7.0376836292e-2f;
  sum = sum * r - 1.1514610310e-1f;
  sum = sum * r + 1.1676998740e-1f;
  sum = sum * r - 1.2420140846e-1f;
  sum = sum * r + 1.4249322787e-1f;
  sum = sum * r - 1.6668057665e-1f;
  sum = sum * r + 2.0000714765e-1f;
  sum = sum * r - 2.4999993993e-1f;
  sum = sum * r + 3.3333331174e-1f;
  return r * r * (sum * r - 0.5f) + r + power * 0.693147181f;
}

// A standard normal number from 32 random bits: the quantile (Giles, 2010) of a uniform number in (-1, 1).
inline float normal(uint32_t bits) {
  bits = bits >> 9 | 0x3F800000u;
  float uniform;
  memcpy(&uniform, &bits, sizeof uniform);
  const float least = -0.99999994f, x = larger(least, (uniform - 1) * (1 - least) + least);
  const float w = -quick_log((1 - x) * (1 + x));
  const bool central = w < 5;
  const float v = central ? w - 2.5f : sqrt(w) - 3;
  float sum = central ? 2.81022636e-08f : -0.000200214257f;
  sum = (central ? 3.43273939e-07f : 0.000100950558f) + sum * v;
  sum = (central ? -3.5233877e-06f : 0.00134934322f) + sum * v;
  sum = (central ? -4.39150654e-06f : -0.00367342844f) + sum * v;
  sum = (central ? 0.00021858087f : 0.00573950773f) + sum * v;
  sum = (central ? -0.00125372503f : -0.0076224613f) + sum * v;
  sum = (central ? -0.00417768164f : 0.00943887047f) + sum * v;
  sum = (central ? 0.246640727f : 1.00167406f) + sum * v;
  sum = (central ? 1.50140941f : 2.83297682f) + sum * v;
  return 1.41421356f * sum * x;
}

// Rows of some steps with noise. Every step has a key of its own, so it does not matter who computes it.
static void add_noise(void** at, const int* sizes, int run, int begin, int count) {
  const int time = sizes[0], in_row = sizes[1], end = std::min(begin + count, ((const int*)at[0])[run]);
  const uint32_t* words = (const uint32_t*)at[1] + 2 * (long)run;
  const real scale = ((const real*)at[2])[run];
  for (int t = begin; t < end; t++) {
    const Words key = threefry({words[0], words[1]}, {0, (uint32_t)t});
    const real* __restrict from = (const real*)at[3] + ((long)run * time + t) * in_row;
    real* __restrict out = (real*)at[4] + ((long)run * time + t) * in_row;
    VECTORISED
    for (int i = 0; i < in_row; i++) {
      const Words drawn = threefry(key, {0, (uint32_t)i});
      out[i] = from[i] + scale * normal(drawn.first ^ drawn.second);
    }
  }
}

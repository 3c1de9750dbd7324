// CPU: branch-free elementary functions for the printed formulas, so that loops over them vectorise.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

using std::exp2; using std::log; using std::log1p; using std::expm1; using std::sin; using std::cos; using std::sqrt;
using std::fabs; using std::pow; using std::atan2;

typedef CPU_REAL real;
#undef INFINITY
#define INFINITY std::numeric_limits<real>::infinity()
#define LARGEST std::numeric_limits<real>::max()
#define TINY std::numeric_limits<real>::min()
#define __device__
#define VECTORISED _Pragma("omp simd")

// Calls `one` for all numbers below SIZE, in whole vectors: the last begins before the one before it ends, so numbers may
// be visited twice.
template <int SIZE, class One>
inline void in_vectors(One one) {
  const int vector = 32 / (int)sizeof(real), whole = SIZE / vector * vector;
  VECTORISED
  for (int i = 0; i < whole; i++) one(i);
  VECTORISED
  for (int i = std::max(0, SIZE - vector); i < (whole < SIZE ? SIZE : 0); i++) one(i);
}

inline real rsqrt(real x) { return 1 / sqrt(x); }
inline real divide(real a, real b) { return a / b; }
inline real larger(real a, real b) { return a > b ? a : b; }
inline real smaller(real a, real b) { return a < b ? a : b; }

// Exponentials in double precision are the library's; in single precision, they are a power of two and a polynomial.
inline double quick_exp(double x) { return std::exp(x); }
inline double quick_tanh(double x) { return std::tanh(x); }

struct Scaled { float power, rest; };  // exp(x) = power * (1 + rest)

inline Scaled scaled_exp(float x) {
  x = x < -87.0f ? -87.0f : x > 88.0f ? 88.0f : x;
  const float shift = 12582912.0f;  // 1.5 * 2^23: what is added to it is rounded to whole numbers
  float shifted = x * 1.44269504f + shift, whole = shifted - shift;
  float r = x - whole * 0.693145752f - whole * 1.42860677e-6f;  // at most half of log 2; the two are log 2
  float rest = r * (1 + r * (0.5f + r * (1 / 6.0f + r * (1 / 24.0f + r * (1 / 120.0f + r * (1 / 720.0f + r / 5040.0f))))));
  uint32_t bits;  // a shift of signed numbers may not overflow
  memcpy(&bits, &shifted, sizeof bits);
  bits = (bits + 127) << 23;
  Scaled found;
  memcpy(&found.power, &bits, sizeof bits);
  found.rest = rest;
  return found;
}

inline float quick_exp(float x) {
  Scaled found = scaled_exp(x);
  return found.power * found.rest + found.power;
}

// (exp(2 x) - 1) / (exp(2 x) + 1), where nothing cancels out near zero.
inline float quick_tanh(float x) {
  Scaled found = scaled_exp(2 * (x < -20.0f ? -20.0f : x > 20.0f ? 20.0f : x));
  float less_one = found.power * found.rest + (found.power - 1);
  return less_one / (less_one + 2);
}
#define exp quick_exp
#define tanh quick_tanh

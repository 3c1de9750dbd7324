// GPU: definitions for NVRTC, which has no standard headers.
typedef float real;
#define ALIGNED __align__(16)
#define INFINITY __int_as_float(0x7f800000)
#define LARGEST 3.4028234663852886e38f
#define TINY 1.1754943508222875e-38f
#define SHARED_MEMORY(name) extern __shared__ __align__(16) real name[]

__device__ inline real larger(real a, real b) { return fmaxf(a, b); }
__device__ inline real smaller(real a, real b) { return fminf(a, b); }

// Quotients, exponentials and hyperbolic tangents with an error of a few units in the last place, in a few instructions:
// the library's are exact to the last bit and ten times as long.
__device__ inline real divide(real a, real b) { return __fdividef(a, b); }
__device__ inline real quick_exp(real x) { return __expf(x); }
__device__ inline real quick_tanh(real x) {
  real square = x * x, near_zero = x * (1 - square * (0.33333333f - square * 0.13333333f));
  real elsewhere = 1 - __fdividef(2.0f, __expf(2 * x) + 1);
  return square < 0.0025f ? near_zero : elsewhere;
}
#define exp quick_exp
#define tanh quick_tanh

// A copy from global to shared memory that goes on in the background, until `copies_done`.
__device__ inline void copy_async(real* to, const real* from) {
  unsigned place = (unsigned)__cvta_generic_to_shared(to);
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(place), "l"(from));
}
__device__ inline void copy_quad_async(real* to, const real* from) {
  unsigned place = (unsigned)__cvta_generic_to_shared(to);
  asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(place), "l"(from));
}
__device__ inline void copies_done() { asm volatile("cp.async.wait_all;" ::: "memory"); }

// Numbers as matrix units take them: with 10 bits after the point.
typedef unsigned Weight;

__device__ inline Weight rounded(real x) {
  Weight found;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(found) : "f"(x));
  return found;
}

// Adds 8 rows of 8 numbers, times 8 x 8 weights, to the sums. A lane has the numbers `lane % 4` and that + 4 of row
// lane / 4, the same of the weights of column lane / 4, and two of the sums.
__device__ inline void multiply(real* sums, Weight low, Weight high, Weight low_weight, Weight high_weight) {
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %6, %5, %6}, {%7, %8}, {%0, %1, %2, %3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(low), "r"(high), "r"(0), "r"(low_weight), "r"(high_weight));
}

// The same for numbers that are not rounded yet; with FULL_PRECISION, what rounding leaves out is multiplied too.
__device__ inline void multiply_numbers(real* sums, real low, real high, real low_weight, real high_weight) {
  Weight a = rounded(low), b = rounded(high), c = rounded(low_weight), d = rounded(high_weight);
#if FULL_PRECISION
  Weight more_a = rounded(low - __uint_as_float(a)), more_b = rounded(high - __uint_as_float(b));
  Weight more_c = rounded(low_weight - __uint_as_float(c)), more_d = rounded(high_weight - __uint_as_float(d));
  multiply(sums, more_a, more_b, c, d);
  multiply(sums, a, b, more_c, more_d);
#endif
  multiply(sums, a, b, c, d);
}

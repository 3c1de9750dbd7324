// What the kernels need of CUDA, as NVRTC compiles it: there are no headers.
typedef float real;
#define ALIGNED __align__(16)
#define INFINITY __int_as_float(0x7f800000)
#define LARGEST 3.4028234663852886e38f
#define TINY 1.1754943508222875e-38f
#define SHARED_MEMORY(name) extern __shared__ __align__(16) real name[]

__device__ inline real larger(real a, real b) { return fmaxf(a, b); }
__device__ inline real smaller(real a, real b) { return fminf(a, b); }

// A copy from global to shared memory that goes on in the background, until `copies_done`.
__device__ inline void copy_async(real* to, const real* from) {
  unsigned place = (unsigned)__cvta_generic_to_shared(to);
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(place), "l"(from));
}
__device__ inline void copies_done() { asm volatile("cp.async.wait_all;" ::: "memory"); }

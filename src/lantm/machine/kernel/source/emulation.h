// Tests: emulates CUDA on a CPU; the threads of a block take turns, from one barrier to the next.
//
// For tests on machines without a GPU. A thread runs until it waits for others, so a missing barrier shows: what another
// thread was to have written is not there.
#include <ucontext.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <vector>

using std::exp; using std::exp2; using std::log; using std::log1p; using std::expm1; using std::tanh; using std::sin;
using std::cos; using std::sqrt; using std::fabs; using std::pow; using std::atan2;

typedef EMULATED_REAL real;
#undef INFINITY
#define INFINITY std::numeric_limits<real>::infinity()
#define LARGEST std::numeric_limits<real>::max()
#define TINY std::numeric_limits<real>::min()
#define ALIGNED
#define __device__
#define __global__
#define __launch_bounds__(...)
#define SHARED_MEMORY(name) real* name = emulated.shared.data()

inline real rsqrt(real x) { return 1 / sqrt(x); }
inline real divide(real a, real b) { return a / b; }
inline real larger(real a, real b) { return a > b ? a : b; }
inline real smaller(real a, real b) { return a < b ? a : b; }

struct Place { int x, y; };
enum Waiting { RUNS, FOR_BLOCK, FOR_WARP, ENDED };

struct Emulated {
  std::vector<real> shared;
  std::vector<ucontext_t> threads;
  std::vector<Waiting> waiting;
  std::vector<double> lanes;  // what lanes show to others of their warp: two rooms, used in turns
  std::vector<double> operands[2];
  std::vector<int> shown;
  ucontext_t scheduler;
  int current;
};

static Emulated emulated;
static Place blockIdx;
#define threadIdx (Place{emulated.current, 0})

inline void wait_for(Waiting what) {
  int self = emulated.current;
  emulated.waiting[self] = what;
  swapcontext(&emulated.threads[self], &emulated.scheduler);
}

inline void __syncthreads() { wait_for(FOR_BLOCK); }

template <class T>
inline T __shfl_xor_sync(unsigned, T value, int apart) {
  int self = emulated.current, room = emulated.shown[self]++ % 2 * THREADS;
  emulated.lanes[room + self] = value;
  wait_for(FOR_WARP);
  return (T)emulated.lanes[room + (self ^ apart)];
}

template <class T>
inline T __shfl_sync(unsigned, T value, int lane) {
  int self = emulated.current, room = emulated.shown[self]++ % 2 * THREADS;
  emulated.lanes[room + self] = value;
  wait_for(FOR_WARP);
  return (T)emulated.lanes[room + self / 32 * 32 + lane];
}

inline void copy_async(real* to, const real* from) { *to = *from; }
inline void copy_quad_async(real* to, const real* from) { memcpy(to, from, 4 * sizeof(real)); }
inline void copies_done() {}

// The matrix unit: see device.h. Nothing is rounded here.
typedef real Weight;
inline Weight rounded(real x) { return x; }

inline void multiply(real* sums, Weight low, Weight high, Weight low_weight, Weight high_weight) {
  int self = emulated.current, lane = self % 32, warp = self - lane;
  std::vector<double>& shown = emulated.operands[emulated.shown[self]++ % 2];
  const Weight own[4] = {low, high, low_weight, high_weight};
  for (int i = 0; i < 4; i++) shown[4 * self + i] = own[i];
  wait_for(FOR_WARP);
  for (int i = 0; i < 2; i++)
    for (int k = 0; k < 8; k++) {
      double number = shown[4 * (warp + lane / 4 * 4 + k % 4) + k / 4];
      double weight = shown[4 * (warp + (2 * (lane % 4) + i) * 4 + k % 4) + 2 + k / 4];
      sums[i] += (real)(number * weight);
    }
}
inline void multiply_numbers(real* sums, real low, real high, real low_weight, real high_weight) {
  multiply(sums, low, high, low_weight, high_weight);
}

struct Arrays;
static void (*emulated_kernel)(Arrays);
static const Arrays* emulated_arrays;
static void one_thread();

// Runs one block to its end; false if threads wait for each other forever.
static bool run_block() {
  const int stack = 1 << 17;
  std::vector<char> stacks((size_t)stack * THREADS);
  emulated.threads.assign(THREADS, ucontext_t());
  emulated.waiting.assign(THREADS, RUNS);
  emulated.lanes.assign(2 * THREADS, 0);
  for (std::vector<double>& room : emulated.operands) room.assign(4 * THREADS, 0);
  emulated.shown.assign(THREADS, 0);
  for (real& number : emulated.shared) number = std::numeric_limits<real>::quiet_NaN();  // nothing is there yet
  for (int i = 0; i < THREADS; i++) {
    ucontext_t& thread = emulated.threads[i];
    getcontext(&thread);
    thread.uc_stack.ss_sp = stacks.data() + (size_t)stack * i;
    thread.uc_stack.ss_size = stack;
    thread.uc_link = &emulated.scheduler;
    makecontext(&thread, one_thread, 0);
  }
  while (true) {
    bool ran = false;
    for (int i = 0; i < THREADS; i++) {
      if (emulated.waiting[i] != RUNS) continue;
      emulated.current = i;
      swapcontext(&emulated.scheduler, &emulated.threads[i]);
      ran = true;
    }
    int ended = 0, at_barrier = 0;
    for (int warp = 0; warp < THREADS; warp += 32) {
      int lanes = 0;
      for (int i = warp; i < warp + 32; i++) lanes += emulated.waiting[i] == FOR_WARP;
      for (int i = warp; i < warp + 32 && lanes == 32; i++) emulated.waiting[i] = RUNS;
      for (int i = warp; i < warp + 32; i++) {
        ended += emulated.waiting[i] == ENDED;
        at_barrier += emulated.waiting[i] == FOR_BLOCK;
      }
    }
    if (ended == THREADS) return true;
    if (at_barrier == THREADS)
      for (int i = 0; i < THREADS; i++) emulated.waiting[i] = RUNS;
    else if (!ran && at_barrier + ended == THREADS) return false;
    else if (!ran) {
      bool any = false;
      for (int i = 0; i < THREADS; i++) any |= emulated.waiting[i] == RUNS;
      if (!any) return false;
    }
  }
}

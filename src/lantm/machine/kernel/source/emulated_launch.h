// Tests: runs the GPU kernels on a CPU, block after block. Included after the kernels.
static void one_thread() {
  emulated_kernel(*emulated_arrays);
  emulated.waiting[emulated.current] = ENDED;
}

extern "C" int emulate(int backwards, void** arrays, int count, int time, int batch, int slots, int blocks, int runs, int shared) {
  Arrays given;
  memcpy(given.at, arrays, count * sizeof(void*));
  given.time = time;
  given.batch = batch;
  given.slots = slots;
  emulated_kernel = backwards ? backward : forward;
  emulated_arrays = &given;
  emulated.shared.assign(shared, 0);
  for (int run = 0; run < runs; run++)
    for (int at = 0; at < blocks; at++) {
      blockIdx = Place{at, run};
      if (!run_block()) return 1;
    }
  return 0;
}

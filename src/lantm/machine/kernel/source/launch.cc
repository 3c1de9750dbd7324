// The XLA custom call: starts a kernel on the GPU's stream, a program on the threads of the CPU, or the emulation. Compiled
// by the system's C++ compiler against JAX's headers.
//
// The driver is found at run time, so no toolkit is needed here. Kernels are given by name, as images that the driver
// loads when they are first started on a device.
#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

namespace {

const int kMostArrays = 34;

struct Arrays {  // as in recurrence.h
  void* at[kMostArrays];
  int time, batch, slots;
};

// The functions of the driver, which returns 0 when all is well.
struct Driver {
  int (*get_context)(void**);
  int (*load)(void**, const void*);
  int (*get_function)(void**, void*, const char*);
  int (*set_attribute)(void*, int, int);
  int (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**);
  bool found = false;

  Driver() {
    void* library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) return;
    *(void**)&get_context = dlsym(library, "cuCtxGetCurrent");
    *(void**)&load = dlsym(library, "cuModuleLoadData");
    *(void**)&get_function = dlsym(library, "cuModuleGetFunction");
    *(void**)&set_attribute = dlsym(library, "cuFuncSetAttribute");
    *(void**)&launch = dlsym(library, "cuLaunchKernel");
    found = get_context && load && get_function && set_attribute && launch;
  }
};

const Driver& TheDriver() {
  static Driver driver;
  return driver;
}

const int kMostSharedMemory = 8;  // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES

std::mutex mutex;
std::map<std::string, std::string> images;
std::map<std::pair<void*, std::string>, std::pair<void*, void*>> loaded;  // forward and backward, by context and name

ffi::Error Failed(const std::string& what, int status) {
  return ffi::Error(ffi::ErrorCode::kInternal, "lantm's kernel: " + what + " failed with CUDA error " + std::to_string(status));
}

// All buffers in a row, and what counts them.
ffi::Error Pack(ffi::RemainingArgs arguments, ffi::RemainingRets results, Arrays* arrays, size_t* count) {
  if (arguments.size() + results.size() > kMostArrays)
    return ffi::Error(ffi::ErrorCode::kInternal, "lantm's kernel: too many arrays");
  *count = 0;
  for (size_t i = 0; i < arguments.size(); i++) arrays->at[(*count)++] = arguments.get<ffi::AnyBuffer>(i)->untyped_data();
  for (size_t i = 0; i < results.size(); i++) arrays->at[(*count)++] = (*results.get<ffi::AnyBuffer>(i))->untyped_data();
  return ffi::Error::Success();
}

// What was registered under a name.
template <class Found>
ffi::Error Known(const std::map<std::string, Found>& all, std::string_view name, Found* found) {
  std::lock_guard<std::mutex> lock(mutex);
  auto known = all.find(std::string(name));
  if (known == all.end()) return ffi::Error(ffi::ErrorCode::kNotFound, "lantm's kernel: unknown " + std::string(name));
  *found = known->second;
  return ffi::Error::Success();
}

typedef int (*Emulator)(int, void**, int, int, int, int, int, int, int);
std::map<std::string, Emulator> emulators;

ffi::Error Emulate(ffi::RemainingArgs arguments, ffi::RemainingRets results, std::string_view kernel, int32_t backwards,
                   int32_t blocks, int32_t runs, int32_t threads, int32_t shared, int32_t time, int32_t batch, int32_t slots) {
  Arrays arrays;
  size_t count;
  if (ffi::Error error = Pack(arguments, results, &arrays, &count); error.failure()) return error;
  Emulator emulator;
  if (ffi::Error error = Known(emulators, kernel, &emulator); error.failure()) return error;
  std::lock_guard<std::mutex> lock(mutex);  // it runs one block at a time
  if (emulator(backwards, arrays.at, (int)count, time, batch, slots, blocks, runs, shared))
    return ffi::Error(ffi::ErrorCode::kInternal, "lantm's kernel: threads wait for each other");
  return ffi::Error::Success();
}

// A piece of a run's work, on a CPU: which kind of work, arrays, their count, sizes, the run, the first item and how many.
typedef void (*Piece)(int, void**, int, const int*, int, int, int);
std::map<std::string, Piece> on_cpu;

// Items that a thread takes together: enough of them for every row of a product's tile, and for every thread.
const int kLeastItems = 8, kMostItems = 32;

// A call's work in pieces. The thread that was called takes pieces as long as there are any, and so does every thread of
// the pool that has nothing better to do; so nobody waits for a thread that never comes.
struct Work {
  Piece piece;
  Arrays arrays;
  size_t count;
  std::vector<int> sizes;
  int kind, items, at_once, per_run, all;
  std::atomic<int> next{0};
  std::mutex mutex;
  std::condition_variable ended;
  int done = 0;
  bool failed = false;

  void Take() {
    for (int one; (one = next++) < all;) {
      int begin = one % per_run * at_once;
      bool well = true;
      try {
        piece(kind, arrays.at, (int)count, sizes.data(), one / per_run, begin, std::min(at_once, items - begin));
      } catch (const std::exception&) {  // XLA's threads know nothing of exceptions: they would end the process
        well = false;
      }
      std::lock_guard<std::mutex> lock(mutex);
      failed |= !well;
      if (++done == all) ended.notify_all();
    }
  }
};

ffi::Error RunOnCpu(ffi::ThreadPool pool, ffi::RemainingArgs arguments, ffi::RemainingRets results, std::string_view kernel,
                    int32_t kind, int32_t runs, int32_t items, ffi::Span<const int32_t> sizes) {
  auto work = std::make_shared<Work>();
  if (ffi::Error error = Pack(arguments, results, &work->arrays, &work->count); error.failure()) return error;
  if (ffi::Error error = Known(on_cpu, kernel, &work->piece); error.failure()) return error;
  int threads = std::max(1, (int)pool.num_threads());
  int share = (runs * items + threads - 1) / threads;
  work->at_once = std::clamp((share + kLeastItems - 1) / kLeastItems * kLeastItems, kLeastItems, kMostItems);
  work->per_run = (items + work->at_once - 1) / work->at_once;
  work->all = runs * work->per_run;
  work->kind = kind;
  work->items = items;
  work->sizes.assign(sizes.begin(), sizes.end());
  for (int i = 1; i < std::min(threads, work->all); i++) pool.Schedule([work] { work->Take(); });
  work->Take();
  std::unique_lock<std::mutex> lock(work->mutex);
  work->ended.wait(lock, [&] { return work->done == work->all; });
  if (work->failed) return ffi::Error(ffi::ErrorCode::kResourceExhausted, "lantm's kernel: there is too little memory");
  return ffi::Error::Success();
}

// The kernel of this name in the current context, which is loaded if need be.
ffi::Error Find(std::string_view kernel, int32_t backwards, int32_t shared, void** function) {
  const Driver& driver = TheDriver();
  if (!driver.found) return ffi::Error(ffi::ErrorCode::kUnavailable, "lantm's kernel: there is no CUDA driver");
  void* context = nullptr;
  if (int status = driver.get_context(&context)) return Failed("asking for the context", status);
  std::lock_guard<std::mutex> lock(mutex);
  auto key = std::make_pair(context, std::string(kernel));
  auto known = loaded.find(key);
  if (known == loaded.end()) {
    auto image = images.find(key.second);
    if (image == images.end()) return ffi::Error(ffi::ErrorCode::kNotFound, "lantm's kernel: unknown " + key.second);
    void *module = nullptr, *forward = nullptr, *backward = nullptr;
    if (int status = driver.load(&module, image->second.data())) return Failed("loading", status);
    if (int status = driver.get_function(&forward, module, "forward")) return Failed("finding it", status);
    if (int status = driver.get_function(&backward, module, "backward")) return Failed("finding it", status);
    known = loaded.emplace(key, std::make_pair(forward, backward)).first;
  }
  *function = backwards ? known->second.second : known->second.first;
  if (int status = driver.set_attribute(*function, kMostSharedMemory, shared))
    return Failed("asking for shared memory", status);
  return ffi::Error::Success();
}

// Before XLA records the launch into a graph: nothing can be loaded while it does.
ffi::Error Load(ffi::RemainingArgs, ffi::RemainingRets, std::string_view kernel, int32_t backwards, int32_t, int32_t, int32_t,
                int32_t shared, int32_t, int32_t, int32_t) {
  void* function = nullptr;
  return Find(kernel, backwards, shared, &function);
}

ffi::Error Launch(void* stream, ffi::RemainingArgs arguments, ffi::RemainingRets results, std::string_view kernel,
                  int32_t backwards, int32_t blocks, int32_t runs, int32_t threads, int32_t shared, int32_t time,
                  int32_t batch, int32_t slots) {
  void* function = nullptr;
  if (ffi::Error error = Find(kernel, backwards, shared, &function); error.failure()) return error;
  Arrays arrays;
  size_t count;
  if (ffi::Error error = Pack(arguments, results, &arrays, &count); error.failure()) return error;
  arrays.time = time;
  arrays.batch = batch;
  arrays.slots = slots;
  void* given[] = {&arrays};
  if (int status = TheDriver().launch(function, blocks, runs, 1, threads, 1, 1, shared, stream, given, nullptr))
    return Failed("starting it", status);
  return ffi::Error::Success();
}

}  // namespace

extern "C" void lantm_register(const char* name, const char* image, size_t size) {
  std::lock_guard<std::mutex> lock(mutex);
  images[name] = std::string(image, size);
}

extern "C" void lantm_register_on_cpu(const char* name, void* piece) {
  std::lock_guard<std::mutex> lock(mutex);
  on_cpu[name] = (Piece)piece;
}

extern "C" void lantm_register_emulated(const char* name, void* emulator) {
  std::lock_guard<std::mutex> lock(mutex);
  emulators[name] = (Emulator)emulator;
}

#define WITH_SIZES(binding)                                                                                            \
  binding.RemainingArgs().RemainingRets().Attr<std::string_view>("kernel").Attr<int32_t>("backwards")                  \
      .Attr<int32_t>("blocks").Attr<int32_t>("runs").Attr<int32_t>("threads").Attr<int32_t>("shared")                  \
      .Attr<int32_t>("time").Attr<int32_t>("batch").Attr<int32_t>("slots")

// A launch reads nothing on the host, so XLA may record it once and start it again and again as part of a graph.
XLA_FFI_DEFINE_HANDLER_SYMBOL(lantm_launch, Launch, WITH_SIZES(ffi::Ffi::Bind().Ctx<ffi::PlatformStream<void*>>()),
                              {ffi::Traits::kCmdBufferCompatible});
XLA_FFI_DEFINE_HANDLER_SYMBOL(lantm_load, Load, WITH_SIZES(ffi::Ffi::BindInitialize()));
XLA_FFI_DEFINE_HANDLER_SYMBOL(lantm_emulate, Emulate, WITH_SIZES(ffi::Ffi::Bind()));
XLA_FFI_DEFINE_HANDLER_SYMBOL(lantm_run_on_cpu, RunOnCpu,
                              ffi::Ffi::Bind().Ctx<ffi::ThreadPool>().RemainingArgs().RemainingRets()
                                  .Attr<std::string_view>("kernel").Attr<int32_t>("kind").Attr<int32_t>("runs")
                                  .Attr<int32_t>("items").Attr<ffi::Span<const int32_t>>("sizes"));

// Starts a kernel, on the stream that XLA gives or emulated on a CPU: compiled by the C++ compiler of the machine, against
// JAX's headers.
//
// The driver is found at run time, so no toolkit is needed here. Kernels are given by name, as images that the driver
// loads when they are first started on a device.
#include <dlfcn.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

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

typedef int (*Emulator)(int, void**, int, int, int, int, int, int, int);
std::map<std::string, Emulator> emulators;

ffi::Error Emulate(ffi::RemainingArgs arguments, ffi::RemainingRets results, std::string_view kernel, int32_t backwards,
                   int32_t blocks, int32_t runs, int32_t threads, int32_t shared, int32_t time, int32_t batch, int32_t slots) {
  Arrays arrays;
  size_t count;
  if (ffi::Error error = Pack(arguments, results, &arrays, &count); error.failure()) return error;
  std::lock_guard<std::mutex> lock(mutex);  // it runs one block at a time
  if (emulators[std::string(kernel)](backwards, arrays.at, (int)count, time, batch, slots, blocks, runs, shared))
    return ffi::Error(ffi::ErrorCode::kInternal, "lantm's kernel: threads wait for each other");
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

#include "backends/cuda/hooks.h"

#include <dlfcn.h>

#include <atomic>
#include <cstddef>

// The types of the runtime's functions, as far as passing them on needs them.
struct HookedDim3 {
  unsigned x, y, z;
};
struct HookedLaunchConfig {
  HookedDim3 grid, block;
  size_t shared;
  void* stream;
  void* attributes;
  unsigned attribute_count;
};

namespace jaxkern {
namespace {

constexpr int kNotLoaded = 3;  // cudaErrorInitializationError
constexpr int kDeviceToDevice = 3, kDefault = 4;
void* const kLegacyStream = reinterpret_cast<void*>(1);

std::atomic<CudaStream> given_stream{nullptr};
std::atomic<int64_t> work{0}, unjoined{0};

bool IsCapturing(CudaStream stream) {
  using Function = int (*)(CudaStream, int*);
  static const auto function =
      reinterpret_cast<Function>(CudaRuntimeFunction("cudaStreamIsCapturing"));
  int status = 0;
  return function != nullptr && function(stream, &status) == kCudaSuccess &&
         status != 0;
}

/// The default stream and the given one wait for each other.
void CountOn(CudaStream stream) {
  const bool ours =
      stream == nullptr || stream == kLegacyStream || stream == given_stream;
  if (!ours && IsCapturing(stream)) return;
  ++work;
  if (!ours) ++unjoined;
}

void CountCopy(int kind, CudaStream stream) {
  if (kind == kDeviceToDevice || kind == kDefault) CountOn(stream);
}

/// Calls the real function of that name.
template <typename... Arguments>
int Call(const char* name, std::atomic<void*>* function,
         Arguments... arguments) {
  if (*function == nullptr) *function = CudaRuntimeFunction(name);
  if (*function == nullptr) return kNotLoaded;
  return reinterpret_cast<int (*)(Arguments...)>(function->load())(
      arguments...);
}

}  // namespace

void StartCounting(CudaStream given) {
  given_stream = given;
  work = unjoined = 0;
}

}  // namespace jaxkern

using jaxkern::Call;
using jaxkern::CountCopy;
using jaxkern::CountOn;
using jaxkern::given_stream;
using jaxkern::unjoined;

#define JAXKERN_HOOK extern "C" __attribute__((visibility("default"))) int
#define JAXKERN_PASS_ON(name, ...)         \
  static std::atomic<void*> real{nullptr}; \
  return Call(name, &real, __VA_ARGS__)

// What nvcc makes of <<<>>>: the first from CUDA 13 on, the second before.
JAXKERN_HOOK __cudaLaunchKernel(void* kernel, HookedDim3 grid, HookedDim3 block,
                                void** arguments, size_t shared, void* stream) {
  CountOn(stream);
  JAXKERN_PASS_ON("__cudaLaunchKernel", kernel, grid, block, arguments, shared,
                  stream);
}

JAXKERN_HOOK cudaLaunchKernel(const void* kernel, HookedDim3 grid,
                              HookedDim3 block, void** arguments, size_t shared,
                              void* stream) {
  CountOn(stream);
  JAXKERN_PASS_ON("cudaLaunchKernel", kernel, grid, block, arguments, shared,
                  stream);
}

JAXKERN_HOOK cudaLaunchCooperativeKernel(const void* kernel, HookedDim3 grid,
                                         HookedDim3 block, void** arguments,
                                         size_t shared, void* stream) {
  CountOn(stream);
  JAXKERN_PASS_ON("cudaLaunchCooperativeKernel", kernel, grid, block, arguments,
                  shared, stream);
}

JAXKERN_HOOK cudaLaunchKernelExC(const HookedLaunchConfig* config,
                                 const void* kernel, void** arguments) {
  if (config != nullptr) CountOn(config->stream);
  JAXKERN_PASS_ON("cudaLaunchKernelExC", config, kernel, arguments);
}

JAXKERN_HOOK cudaGraphLaunch(void* graph, void* stream) {
  CountOn(stream);
  JAXKERN_PASS_ON("cudaGraphLaunch", graph, stream);
}

JAXKERN_HOOK cudaMemset(void* to, int byte, size_t bytes) {
  CountOn(nullptr);
  JAXKERN_PASS_ON("cudaMemset", to, byte, bytes);
}

JAXKERN_HOOK cudaMemsetAsync(void* to, int byte, size_t bytes, void* stream) {
  CountOn(stream);
  JAXKERN_PASS_ON("cudaMemsetAsync", to, byte, bytes, stream);
}

JAXKERN_HOOK cudaMemcpy(void* to, const void* from, size_t bytes, int kind) {
  CountCopy(kind, nullptr);
  JAXKERN_PASS_ON("cudaMemcpy", to, from, bytes, kind);
}

JAXKERN_HOOK cudaMemcpyAsync(void* to, const void* from, size_t bytes, int kind,
                             void* stream) {
  CountCopy(kind, stream);
  JAXKERN_PASS_ON("cudaMemcpyAsync", to, from, bytes, kind, stream);
}

// Ways to wait for what runs elsewhere.
JAXKERN_HOOK cudaStreamWaitEvent(void* stream, void* event, unsigned flags) {
  if (stream == nullptr || stream == given_stream) unjoined = 0;
  JAXKERN_PASS_ON("cudaStreamWaitEvent", stream, event, flags);
}

JAXKERN_HOOK cudaStreamSynchronize(void* stream) {
  if (stream != nullptr && stream != given_stream) unjoined = 0;
  JAXKERN_PASS_ON("cudaStreamSynchronize", stream);
}

JAXKERN_HOOK cudaEventSynchronize(void* event) {
  unjoined = 0;
  JAXKERN_PASS_ON("cudaEventSynchronize", event);
}

JAXKERN_HOOK cudaDeviceSynchronize() {
  unjoined = 0;
  static std::atomic<void*> real{nullptr};
  return Call("cudaDeviceSynchronize", &real);
}

namespace jaxkern {

CudaWork CountedWork() {
  static const bool hooked = dlsym(RTLD_DEFAULT, "__cudaLaunchKernel") ==
                             reinterpret_cast<void*>(&__cudaLaunchKernel);
  return {hooked ? work.load() : -1, unjoined};
}

}  // namespace jaxkern

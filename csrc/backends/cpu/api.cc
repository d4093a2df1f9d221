// The runtime API's functions that the shim headers only declare.
#include <sys/sysinfo.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "backends/cpu/checker.h"
#include "backends/cpu/runtime.h"

struct CUevent_st {
  std::chrono::steady_clock::time_point time;
};

namespace {

using jaxkern::Checker;
using jaxkern::SetLastError;

// As on the device, fresh memory holds whatever; NaNs make its use visible.
constexpr int kFresh = 0xff;
constexpr size_t kAlignment = 256;

/// What a GPU does without the host: all but copies from and to the host.
bool IsDeviceCopy(cudaMemcpyKind kind) {
  return kind == cudaMemcpyDeviceToDevice || kind == cudaMemcpyDefault;
}

// So much of it: a longer fill would take longer than the kernel.
constexpr size_t kFilled = size_t{64} << 20;

size_t HostMemory() {
  struct sysinfo info;
  return sysinfo(&info) == 0 ? size_t(info.totalram) * info.mem_unit : 0;
}

}  // namespace

extern "C" {

cudaError_t cudaGetLastError() { return jaxkern::TakeLastError(); }

cudaError_t cudaPeekAtLastError() { return jaxkern::LastError(); }

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
#define CASE(code, name, text) \
  case name:                   \
    return text;
    JAXKERN_CUDA_ERRORS(CASE)
#undef CASE
  }
  return "unrecognized error code";
}

const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
#define CASE(code, name, text) \
  case name:                   \
    return #name;
    JAXKERN_CUDA_ERRORS(CASE)
#undef CASE
  }
  return "unrecognized error code";
}

cudaError_t jaxkern_malloc(void** pointer, size_t bytes, bool host) {
  if (!pointer) return SetLastError(cudaErrorInvalidValue);
  *pointer = nullptr;
  if (bytes == 0) return cudaSuccess;
  const jaxkern::WorkScope work(0);
  if (Checker* checker = bytes <= HostMemory() ? Checker::Get() : nullptr) {
    *pointer = checker->Allocate(bytes, host, __builtin_return_address(0));
  } else if (bytes > HostMemory() ||
             posix_memalign(pointer, kAlignment, bytes) != 0) {
    *pointer = nullptr;
  }
  if (!*pointer) return SetLastError(cudaErrorMemoryAllocation);
  std::memset(*pointer, kFresh, std::min(bytes, kFilled));
  return cudaSuccess;
}

cudaError_t cudaFree(void* pointer) {
  if (Checker* checker = Checker::Get()) {
    return checker->Free(pointer, __builtin_return_address(0))
               ? cudaSuccess
               : SetLastError(cudaErrorInvalidValue);
  }
  std::free(pointer);
  return cudaSuccess;
}

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes,
                       cudaMemcpyKind kind) {
  if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault) {
    return SetLastError(cudaErrorInvalidMemcpyDirection);
  }
  if (bytes && (!to || !from)) return SetLastError(cudaErrorInvalidValue);
  Checker* checker = Checker::Get();
  if (checker && !(checker->HostCall("cudaMemcpy", from, bytes, false,
                                     __builtin_return_address(0)) &&
                   checker->HostCall("cudaMemcpy", to, bytes, true,
                                     __builtin_return_address(0)))) {
    return SetLastError(cudaErrorInvalidValue);
  }
  const jaxkern::WorkScope work(IsDeviceCopy(kind));
  if (kind == cudaMemcpyHostToDevice) jaxkern::AddHostWrite(to, bytes);
  std::memmove(to, from, bytes);
  return cudaSuccess;
}

cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from,
                         size_t from_pitch, size_t width, size_t height,
                         cudaMemcpyKind kind) {
  if (width > to_pitch || width > from_pitch) {
    return SetLastError(cudaErrorInvalidValue);
  }
  const jaxkern::WorkScope work(IsDeviceCopy(kind));
  for (size_t row = 0; row < height; ++row) {
    char* target = static_cast<char*>(to) + row * to_pitch;
    const char* source = static_cast<const char*>(from) + row * from_pitch;
    Checker* checker = Checker::Get();
    if (checker && !(checker->HostCall("cudaMemcpy2D", source, width, false,
                                       __builtin_return_address(0)) &&
                     checker->HostCall("cudaMemcpy2D", target, width, true,
                                       __builtin_return_address(0)))) {
      return SetLastError(cudaErrorInvalidValue);
    }
    std::memmove(target, source, width);
  }
  return cudaSuccess;
}

cudaError_t cudaMemset(void* to, int byte, size_t bytes) {
  if (bytes && !to) return SetLastError(cudaErrorInvalidValue);
  Checker* checker = Checker::Get();
  if (checker && !checker->HostCall("cudaMemset", to, bytes, true,
                                    __builtin_return_address(0))) {
    return SetLastError(cudaErrorInvalidValue);
  }
  const jaxkern::WorkScope work(1);
  std::memset(to, byte, bytes);
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() { return jaxkern::LastError(); }

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute,
                                   int device) {
  if (device != 0) return SetLastError(cudaErrorInvalidDevice);
  switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock:
      *value = int(jaxkern::kMaxThreadsPerBlock);
      break;
    case cudaDevAttrMaxSharedMemoryPerBlock:
      *value = int(jaxkern::kSharedPerBlock);
      break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *value = int(jaxkern::kSharedPerBlockOptIn);
      break;
    case cudaDevAttrWarpSize:
      *value = 32;
      break;
    case cudaDevAttrMultiProcessorCount:
      *value = jaxkern::RuntimeThreads();
      break;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
      *value = 2048;
      break;
    case cudaDevAttrComputeCapabilityMajor:
      *value = 9;
      break;
    case cudaDevAttrComputeCapabilityMinor:
      *value = 0;
      break;
    default:
      return SetLastError(cudaErrorInvalidValue);
  }
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (device != 0) return SetLastError(cudaErrorInvalidDevice);
  *properties = {};
  std::snprintf(properties->name, sizeof(properties->name), "jaxkern cpu");
  properties->totalGlobalMem = HostMemory();
  properties->sharedMemPerBlock = jaxkern::kSharedPerBlock;
  properties->sharedMemPerBlockOptin = jaxkern::kSharedPerBlockOptIn;
  properties->sharedMemPerMultiprocessor = 228 << 10;
  properties->totalConstMem = 64 << 10;
  properties->regsPerBlock = properties->regsPerMultiprocessor = 65536;
  properties->warpSize = 32;
  properties->maxThreadsPerBlock = int(jaxkern::kMaxThreadsPerBlock);
  const int threads[] = {1024, 1024, 64};
  const int blocks[] = {0x7fffffff, 65535, 65535};
  std::memcpy(properties->maxThreadsDim, threads, sizeof(threads));
  std::memcpy(properties->maxGridSize, blocks, sizeof(blocks));
  properties->major = 9;
  properties->multiProcessorCount = jaxkern::RuntimeThreads();
  properties->maxThreadsPerMultiProcessor = 2048;
  properties->maxBlocksPerMultiProcessor = 32;
  properties->l2CacheSize = 32 << 20;
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  *free = *total = HostMemory();
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = new CUevent_st;
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t) {
  if (!event) return SetLastError(cudaErrorInvalidResourceHandle);
  event->time = std::chrono::steady_clock::now();
  return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t start,
                                 cudaEvent_t stop) {
  if (!start || !stop) return SetLastError(cudaErrorInvalidResourceHandle);
  *ms = std::chrono::duration<float, std::milli>(stop->time - start->time)
            .count();
  return cudaSuccess;
}

long jaxkern_clock() { return long(__builtin_ia32_rdtsc()); }

cudaError_t jaxkern_func_attribute(cudaFuncAttribute attribute, int value) {
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) {
    return cudaSuccess;
  }
  if (value < 0 || size_t(value) > jaxkern::kSharedPerBlockOptIn) {
    return SetLastError(cudaErrorInvalidValue);
  }
  if (size_t(value) > jaxkern::kSharedPerBlock) {
    jaxkern::SetSharedLimit(size_t(value));
  }
  return cudaSuccess;
}

}  // extern "C"

// The runtime API that a launch function commonly uses, and the launch itself.
// Everything is synchronous here: streams and events keep their meaning, since
// running in order is one of the orders they allow.
#pragma once
#include "runtime_abi.h"

#define JAXKERN_CUDA_ERRORS(X)                                                \
  X(0, cudaSuccess, "no error")                                               \
  X(1, cudaErrorInvalidValue, "invalid argument")                             \
  X(2, cudaErrorMemoryAllocation, "out of memory")                            \
  X(9, cudaErrorInvalidConfiguration, "invalid configuration argument")       \
  X(13, cudaErrorInvalidSymbol, "invalid device symbol")                      \
  X(21, cudaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy") \
  X(98, cudaErrorInvalidDeviceFunction, "invalid device function")            \
  X(101, cudaErrorInvalidDevice, "invalid device ordinal")                    \
  X(400, cudaErrorInvalidResourceHandle, "invalid resource handle")           \
  X(600, cudaErrorNotReady, "device not ready")                               \
  X(700, cudaErrorIllegalAddress, "an illegal memory access was encountered") \
  X(701, cudaErrorLaunchOutOfResources,                                       \
    "too many resources requested for launch")                                \
  X(710, cudaErrorAssert, "device-side assert triggered")                     \
  X(716, cudaErrorMisalignedAddress, "misaligned address")                    \
  X(719, cudaErrorLaunchFailure, "unspecified launch failure")                \
  X(801, cudaErrorNotSupported, "operation not supported")                    \
  X(999, cudaErrorUnknown, "unknown error")

#define JAXKERN_ENUM(code, name, text) name = code,
enum cudaError { JAXKERN_CUDA_ERRORS(JAXKERN_ENUM) };
#undef JAXKERN_ENUM
typedef cudaError cudaError_t;

typedef struct CUstream_st* cudaStream_t;
typedef struct CUevent_st* cudaEvent_t;
typedef cudaStream_t CUstream;
#define cudaStreamLegacy ((cudaStream_t)0x1)
#define cudaStreamPerThread ((cudaStream_t)0x2)
#define cudaStreamDefault 0
#define cudaStreamNonBlocking 1
#define cudaEventDefault 0
#define cudaEventDisableTiming 2

enum cudaMemcpyKind {
  cudaMemcpyHostToHost,
  cudaMemcpyHostToDevice,
  cudaMemcpyDeviceToHost,
  cudaMemcpyDeviceToDevice,
  cudaMemcpyDefault
};
enum cudaFuncAttribute {
  cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
  cudaFuncAttributePreferredSharedMemoryCarveout = 9
};
enum cudaFuncCache {
  cudaFuncCachePreferNone,
  cudaFuncCachePreferShared,
  cudaFuncCachePreferL1,
  cudaFuncCachePreferEqual
};
enum cudaDeviceAttr {
  cudaDevAttrMaxThreadsPerBlock = 1,
  cudaDevAttrMaxSharedMemoryPerBlock = 8,
  cudaDevAttrWarpSize = 10,
  cudaDevAttrMultiProcessorCount = 16,
  cudaDevAttrMaxThreadsPerMultiProcessor = 39,
  cudaDevAttrComputeCapabilityMajor = 75,
  cudaDevAttrComputeCapabilityMinor = 76,
  cudaDevAttrMaxSharedMemoryPerBlockOptin = 97
};
struct cudaDeviceProp {
  char name[256];
  size_t totalGlobalMem, sharedMemPerBlock, sharedMemPerBlockOptin;
  size_t sharedMemPerMultiprocessor, totalConstMem;
  int regsPerBlock, regsPerMultiprocessor, warpSize, maxThreadsPerBlock;
  int maxThreadsDim[3], maxGridSize[3], major, minor, multiProcessorCount;
  int maxThreadsPerMultiProcessor, maxBlocksPerMultiProcessor, l2CacheSize;
};

// Symbols of their own: the worker that exports them may also run candidates
// for a GPU, whose calls must reach the real runtime library.
#define JAXKERN_AS(name) __asm__("jaxkern_" #name)

extern "C" {
JAXKERN_EXPORT cudaError_t cudaGetLastError() JAXKERN_AS(cudaGetLastError);
JAXKERN_EXPORT cudaError_t cudaPeekAtLastError()
    JAXKERN_AS(cudaPeekAtLastError);
JAXKERN_EXPORT const char* cudaGetErrorString(cudaError_t error)
    JAXKERN_AS(cudaGetErrorString);
JAXKERN_EXPORT const char* cudaGetErrorName(cudaError_t error)
    JAXKERN_AS(cudaGetErrorName);
/// `host`: host code may touch it too.
JAXKERN_EXPORT cudaError_t jaxkern_malloc(void** pointer, size_t bytes,
                                          bool host);
JAXKERN_EXPORT cudaError_t cudaFree(void* pointer) JAXKERN_AS(cudaFree);
JAXKERN_EXPORT cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes,
                                      cudaMemcpyKind kind)
    JAXKERN_AS(cudaMemcpy);
JAXKERN_EXPORT cudaError_t cudaMemcpy2D(void* to, size_t to_pitch,
                                        const void* from, size_t from_pitch,
                                        size_t width, size_t height,
                                        cudaMemcpyKind kind)
    JAXKERN_AS(cudaMemcpy2D);
JAXKERN_EXPORT cudaError_t cudaMemset(void* to, int byte, size_t bytes)
    JAXKERN_AS(cudaMemset);
JAXKERN_EXPORT cudaError_t cudaDeviceSynchronize()
    JAXKERN_AS(cudaDeviceSynchronize);
JAXKERN_EXPORT cudaError_t cudaDeviceGetAttribute(int* value,
                                                  cudaDeviceAttr attribute,
                                                  int device)
    JAXKERN_AS(cudaDeviceGetAttribute);
JAXKERN_EXPORT cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties,
                                                   int device)
    JAXKERN_AS(cudaGetDeviceProperties);
JAXKERN_EXPORT cudaError_t cudaMemGetInfo(size_t* free, size_t* total)
    JAXKERN_AS(cudaMemGetInfo);
JAXKERN_EXPORT cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event,
                                                    unsigned flags)
    JAXKERN_AS(cudaEventCreateWithFlags);
JAXKERN_EXPORT cudaError_t cudaEventDestroy(cudaEvent_t event)
    JAXKERN_AS(cudaEventDestroy);
JAXKERN_EXPORT cudaError_t cudaEventRecord(cudaEvent_t event,
                                           cudaStream_t stream = nullptr)
    JAXKERN_AS(cudaEventRecord);
JAXKERN_EXPORT cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t start,
                                                cudaEvent_t stop)
    JAXKERN_AS(cudaEventElapsedTime);
/// Allows launches more than 48 KiB of dynamic shared memory, for all kernels
/// of the candidate alike.
JAXKERN_EXPORT cudaError_t jaxkern_func_attribute(cudaFuncAttribute attribute,
                                                  int value);
}

template <class T>
JAXKERN_INLINE cudaError_t cudaMalloc(T** pointer, size_t bytes) {
  return jaxkern_malloc((void**)pointer, bytes, false);
}
template <class T>
JAXKERN_INLINE cudaError_t cudaMallocAsync(T** pointer, size_t bytes,
                                           cudaStream_t) {
  return jaxkern_malloc((void**)pointer, bytes, false);
}
template <class T>
JAXKERN_INLINE cudaError_t cudaMallocManaged(T** pointer, size_t bytes,
                                             unsigned = 1) {
  return jaxkern_malloc((void**)pointer, bytes, true);
}
template <class T>
JAXKERN_INLINE cudaError_t cudaMallocHost(T** pointer, size_t bytes,
                                          unsigned = 0) {
  return jaxkern_malloc((void**)pointer, bytes, true);
}
JAXKERN_INLINE cudaError_t cudaFreeHost(void* pointer) {
  return cudaFree(pointer);
}
JAXKERN_INLINE cudaError_t cudaFreeAsync(void* pointer, cudaStream_t) {
  return cudaFree(pointer);
}
JAXKERN_INLINE cudaError_t cudaMemcpyAsync(void* to, const void* from,
                                           size_t bytes, cudaMemcpyKind kind,
                                           cudaStream_t = nullptr) {
  return cudaMemcpy(to, from, bytes, kind);
}
JAXKERN_INLINE cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch,
                                             const void* from,
                                             size_t from_pitch, size_t width,
                                             size_t height, cudaMemcpyKind kind,
                                             cudaStream_t = nullptr) {
  return cudaMemcpy2D(to, to_pitch, from, from_pitch, width, height, kind);
}
JAXKERN_INLINE cudaError_t cudaMemsetAsync(void* to, int byte, size_t bytes,
                                           cudaStream_t = nullptr) {
  return cudaMemset(to, byte, bytes);
}

namespace jaxkern_cpu {
inline cudaError_t SymbolCopy(void* to, const void* from, size_t bytes,
                              size_t offset, size_t size) {
  if (offset > size || bytes > size - offset) return cudaErrorInvalidValue;
  memcpy(to, from, bytes);
  return cudaSuccess;
}
}  // namespace jaxkern_cpu
template <class T>
inline cudaError_t cudaMemcpyToSymbol(T& symbol, const void* from, size_t bytes,
                                      size_t offset = 0,
                                      cudaMemcpyKind = cudaMemcpyHostToDevice) {
  return jaxkern_cpu::SymbolCopy((char*)&symbol + offset, from, bytes, offset,
                                 sizeof(T));
}
template <class T>
inline cudaError_t cudaMemcpyToSymbolAsync(
    T& symbol, const void* from, size_t bytes, size_t offset = 0,
    cudaMemcpyKind kind = cudaMemcpyHostToDevice, cudaStream_t = nullptr) {
  return cudaMemcpyToSymbol(symbol, from, bytes, offset, kind);
}
template <class T>
inline cudaError_t cudaMemcpyFromSymbol(
    void* to, const T& symbol, size_t bytes, size_t offset = 0,
    cudaMemcpyKind = cudaMemcpyDeviceToHost) {
  return jaxkern_cpu::SymbolCopy(to, (const char*)&symbol + offset, bytes,
                                 offset, sizeof(T));
}
template <class T>
inline cudaError_t cudaGetSymbolAddress(void** pointer, T& symbol) {
  *pointer = (void*)&symbol;
  return cudaSuccess;
}

inline cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  *stream = cudaStreamPerThread;
  return cudaSuccess;
}
inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  return cudaStreamCreate(stream);
}
inline cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned,
                                                int) {
  return cudaStreamCreate(stream);
}
inline cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
inline cudaError_t cudaStreamSynchronize(cudaStream_t) {
  return cudaDeviceSynchronize();
}
inline cudaError_t cudaStreamQuery(cudaStream_t) { return cudaSuccess; }
inline cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t,
                                       unsigned = 0) {
  return cudaSuccess;
}
inline cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return cudaEventCreateWithFlags(event, 0);
}
inline cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }
inline cudaError_t cudaEventQuery(cudaEvent_t) { return cudaSuccess; }
inline cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
inline cudaError_t cudaSetDevice(int device) {
  return device == 0 ? cudaSuccess : cudaErrorInvalidDevice;
}
inline cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}
template <class F>
inline cudaError_t cudaFuncSetAttribute(F*, cudaFuncAttribute attribute,
                                        int value) {
  return jaxkern_func_attribute(attribute, value);
}
template <class F>
inline cudaError_t cudaFuncSetCacheConfig(F*, cudaFuncCache) {
  return cudaSuccess;
}
template <class F>
inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks,
                                                                 F*,
                                                                 int block_size,
                                                                 size_t) {
  if (block_size < 1 || block_size > 1024) return cudaErrorInvalidValue;
  *blocks = 2048 / block_size < 32 ? 2048 / block_size : 32;
  return cudaSuccess;
}
template <class F>
inline cudaError_t cudaOccupancyMaxPotentialBlockSize(int* grid_size,
                                                      int* block_size, F*,
                                                      size_t = 0,
                                                      int limit = 0) {
  *block_size = limit > 0 && limit < 1024 ? limit : 1024;
  int processors = 1;
  cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0);
  *grid_size = 2 * processors;
  return cudaSuccess;
}

namespace jaxkern_cpu {
/// What stands between <<< and >>>.
struct Configuration {
  dim3 grid, block;
  size_t shared;
  Configuration(dim3 grid, dim3 block, size_t shared = 0,
                cudaStream_t = nullptr)
      : grid(grid), block(block), shared(shared) {}
};

template <class F>
inline void RunThreads(const void* kernel) {
  do (*static_cast<const F*>(kernel))();
  while (threadIdx.x + 1 < jaxkern_row_end ? (++threadIdx.x, true)
                                           : jaxkern_next());
}

/// `call(args...)` once per CUDA thread; the arguments were evaluated once.
template <class Call, class... Args>
inline void Launch(const Configuration& c, const Call& call, Args... args) {
  const auto thread = [&] { call(args...); };
  jaxkern_launch(c.grid, c.block, c.shared, &RunThreads<decltype(thread)>,
                 &thread);
}
}  // namespace jaxkern_cpu

// What the host's half of a divided candidate sees of CUDA, in place of what
// nvcc adds by itself: the runtime's declarations, kernels as functions that
// launch themselves, and their registration with the runtime.
#ifndef JAXKERN_SPLIT_H_
#define JAXKERN_SPLIT_H_

#include <cuda_runtime.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include <cmath>
#include <cstdlib>
#include <new>
#include <utility>

// A kernel's address is a constant of the library's own, which the tables
// below need.
#undef __global__
#undef __device__
#undef __host__
#undef __constant__
#undef __shared__
#undef __grid_constant__
#undef __launch_bounds__
#undef __maxnreg__
#undef __cluster_dims__
#undef __forceinline__
#define __global__ \
  __attribute__((visibility("hidden"), noinline, noclone, noipa))
#define __device__
#define __host__
#define __constant__
#define __grid_constant__
#define __launch_bounds__(...)
#define __maxnreg__(...)
#define __cluster_dims__(...)
#define __forceinline__ inline

// Of device code's headers the host's half sees no more than the names.
namespace cooperative_groups {}
namespace cub {}
namespace nvcuda {
namespace wmma {}
}  // namespace nvcuda

extern "C" {
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared,
                                     cudaStream_t stream);
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared,
                                       void* stream);
void** __cudaRegisterFatBinary(void* binary);
void __cudaRegisterFatBinaryEnd(void** handle);
void __cudaUnregisterFatBinary(void** handle);
void __cudaRegisterFunction(void** handle, const char* host, char* device,
                            const char* name, int threads, uint3* thread,
                            uint3* block, dim3* block_size, dim3* grid_size,
                            int* warp_size);
void __cudaRegisterVar(void** handle, char* host, char* device,
                       const char* name, int external, size_t bytes,
                       int constant, int global);
}

// The runtime's templates that cuda_runtime.h has for nvcc alone.
#define JAXKERN_SPLIT_INLINE \
  inline __attribute__((visibility("hidden"))) cudaError_t
template <class T>
JAXKERN_SPLIT_INLINE cudaMemcpyToSymbol(
    const T& symbol, const void* from, size_t bytes, size_t offset = 0,
    cudaMemcpyKind kind = cudaMemcpyHostToDevice) {
  return ::cudaMemcpyToSymbol(static_cast<const void*>(&symbol), from, bytes,
                              offset, kind);
}
template <class T>
JAXKERN_SPLIT_INLINE cudaMemcpyToSymbolAsync(
    const T& symbol, const void* from, size_t bytes, size_t offset = 0,
    cudaMemcpyKind kind = cudaMemcpyHostToDevice,
    cudaStream_t stream = nullptr) {
  return ::cudaMemcpyToSymbolAsync(static_cast<const void*>(&symbol), from,
                                   bytes, offset, kind, stream);
}
template <class T>
JAXKERN_SPLIT_INLINE cudaMemcpyFromSymbol(
    void* to, const T& symbol, size_t bytes, size_t offset = 0,
    cudaMemcpyKind kind = cudaMemcpyDeviceToHost) {
  return ::cudaMemcpyFromSymbol(to, static_cast<const void*>(&symbol), bytes,
                                offset, kind);
}
template <class T>
JAXKERN_SPLIT_INLINE cudaMemcpyFromSymbolAsync(
    void* to, const T& symbol, size_t bytes, size_t offset = 0,
    cudaMemcpyKind kind = cudaMemcpyDeviceToHost,
    cudaStream_t stream = nullptr) {
  return ::cudaMemcpyFromSymbolAsync(to, static_cast<const void*>(&symbol),
                                     bytes, offset, kind, stream);
}
template <class T>
JAXKERN_SPLIT_INLINE cudaGetSymbolAddress(void** pointer, const T& symbol) {
  return ::cudaGetSymbolAddress(pointer, static_cast<const void*>(&symbol));
}
template <class T>
JAXKERN_SPLIT_INLINE cudaGetSymbolSize(size_t* bytes, const T& symbol) {
  return ::cudaGetSymbolSize(bytes, static_cast<const void*>(&symbol));
}
template <class T>
JAXKERN_SPLIT_INLINE cudaFuncSetCacheConfig(T* kernel, cudaFuncCache config) {
  return ::cudaFuncSetCacheConfig(reinterpret_cast<const void*>(kernel),
                                  config);
}
template <class T>
JAXKERN_SPLIT_INLINE cudaFuncSetAttribute(T* kernel, cudaFuncAttribute which,
                                          int value) {
  return ::cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel), which,
                                value);
}
template <class T>
JAXKERN_SPLIT_INLINE cudaFuncGetAttributes(cudaFuncAttributes* attributes,
                                           T* kernel) {
  return ::cudaFuncGetAttributes(attributes,
                                 reinterpret_cast<const void*>(kernel));
}

namespace jaxkern_split {

/// A row of a table that the linker puts together. The name is the symbol's,
/// here and in the cubin.
struct Kernel {
  const void* host;
  const char* name;
};
struct Variable {
  void* host;
  const char* name;
  size_t bytes, constant;
};

#define JAXKERN_SPLIT_ROOM 49152
#define JAXKERN_SPLIT_LOCAL __attribute__((weak, visibility("hidden")))
extern "C" {
extern JAXKERN_SPLIT_LOCAL const Kernel __start_jaxkern_split_kernels[];
extern JAXKERN_SPLIT_LOCAL const Kernel __stop_jaxkern_split_kernels[];
extern JAXKERN_SPLIT_LOCAL const Variable __start_jaxkern_split_variables[];
extern JAXKERN_SPLIT_LOCAL const Variable __stop_jaxkern_split_variables[];
// Room for the cubin in its container, which is written here when it comes. One
// that is larger is linked with in place of this.
extern const char jaxkern_split_fatbin[JAXKERN_SPLIT_ROOM] __attribute__((
    weak, used, visibility("hidden"), section(".nv_fatbin"), aligned(8))) = {};
}

static void** handle;

__attribute__((constructor(101))) static void Register() {
  static struct {
    int magic, version;
    const void* data;
    void* unused;
  } binary = {0x466243b1, 1, jaxkern_split_fatbin, nullptr};
  handle = __cudaRegisterFatBinary(&binary);
  for (const Kernel* k = __start_jaxkern_split_kernels;
       k != __stop_jaxkern_split_kernels; ++k) {
    __cudaRegisterFunction(handle, static_cast<const char*>(k->host),
                           const_cast<char*>(k->name), k->name, -1, nullptr,
                           nullptr, nullptr, nullptr, nullptr);
  }
  for (const Variable* v = __start_jaxkern_split_variables;
       v != __stop_jaxkern_split_variables; ++v) {
    __cudaRegisterVar(handle, static_cast<char*>(v->host),
                      const_cast<char*>(v->name), v->name, 0, v->bytes,
                      static_cast<int>(v->constant), 0);
  }
  __cudaRegisterFatBinaryEnd(handle);
}

__attribute__((destructor(101))) static void Unregister() {
  __cudaUnregisterFatBinary(handle);
}

inline __attribute__((visibility("hidden"))) unsigned Configure(
    dim3 grid, dim3 block, size_t shared = 0, cudaStream_t stream = nullptr) {
  return __cudaPushCallConfiguration(grid, block, shared, stream);
}

inline __attribute__((visibility("hidden"))) void Launch(const void* kernel,
                                                         void** arguments) {
  dim3 grid, block;
  size_t shared = 0;
  cudaStream_t stream = nullptr;
  if (__cudaPopCallConfiguration(&grid, &block, &shared, &stream) !=
      cudaSuccess) {
    return;
  }
  static_cast<void>(
      cudaLaunchKernel(kernel, grid, block, arguments, shared, stream));
}

}  // namespace jaxkern_split

// Rows, with the names as their symbols are. The names stand alone, too, where
// the evaluator reads them.
#define JAXKERN_SPLIT_NAME                             \
  ".pushsection jaxkern_split_names,\"a\",@progbits\n" \
  "771: .asciz \"%c0\"\n"                              \
  ".popsection\n"
#define JAXKERN_SPLIT_KERNEL(...)                            \
  constexpr auto jaxkern_split_self = &__VA_ARGS__;          \
  asm volatile(JAXKERN_SPLIT_NAME                            \
               ".pushsection jaxkern_split_kernels,\"aw\"\n" \
               ".balign 8\n.quad %c0\n.quad 771b\n"          \
               ".popsection"                                 \
               :                                             \
               : "i"(jaxkern_split_self));
#define JAXKERN_SPLIT_VARIABLE(variable, number, constant)              \
  __attribute__((used)) static void jaxkern_split_variable_##number() { \
    asm volatile(JAXKERN_SPLIT_NAME                                     \
                 ".pushsection jaxkern_split_variables,\"aw\"\n"        \
                 ".balign 8\n.quad %c0\n.quad 771b\n.quad %c1\n"        \
                 ".quad " #constant                                     \
                 "\n"                                                   \
                 ".popsection"                                          \
                 :                                                      \
                 : "i"(&variable), "i"(sizeof(variable)));              \
  }

#endif  // JAXKERN_SPLIT_H_

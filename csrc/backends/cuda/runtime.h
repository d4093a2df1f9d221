/// The part of the CUDA runtime that the device uses, looked up in a library
/// that is opened at run time. Declared here, so that building needs no CUDA.
#ifndef JAXKERN_BACKENDS_CUDA_RUNTIME_H_
#define JAXKERN_BACKENDS_CUDA_RUNTIME_H_

#include <cstddef>
#include <string>

namespace jaxkern {

/// cudaError_t, the values that matter here.
enum CudaError : int {
  kCudaSuccess = 0,
  kCudaMemoryAllocation = 2,
  kCudaNoKernelImageForDevice = 209,
  kCudaUnsupportedPtxVersion = 222,
  kCudaNotSupported = 801,
};

using CudaStream = void*;
using CudaEvent = void*;

/// Each member is the function of that name with "cuda" in front.
struct CudaRuntime {
  const char* (*GetErrorName)(int);
  const char* (*GetErrorString)(int);
  int (*GetLastError)();
  int (*GetDeviceCount)(int*);
  int (*GetDeviceProperties)(void*, int);
  int (*DeviceGetAttribute)(int*, int, int);
  int (*SetDevice)(int);
  int (*DeviceSynchronize)();
  int (*MemGetInfo)(size_t*, size_t*);
  int (*CtxResetPersistingL2Cache)();
  int (*Malloc)(void**, size_t);
  int (*Free)(void*);
  int (*Memcpy)(void*, const void*, size_t, int);
  int (*Memset)(void*, int, size_t);
  int (*Memset2D)(void*, size_t, int, size_t, size_t);
  int (*MemcpyAsync)(void*, const void*, size_t, int, CudaStream);
  int (*StreamSynchronize)(CudaStream);
  int (*LaunchHostFunc)(CudaStream, void (*)(void*), void*);
  int (*DeviceGetPCIBusId)(char*, int, int);
  int (*StreamCreate)(CudaStream*);
  int (*EventCreate)(CudaEvent*);
  int (*EventRecord)(CudaEvent, CudaStream);
  int (*EventElapsedTime)(float*, CudaEvent, CudaEvent);
};

/// Opens $JAXKERN_CUDART, which the evaluator sets to the library candidates
/// are linked with; without it libcudart.so.13 or .12 as the dynamic loader
/// finds them. The library stays open, and visible to the candidates. False,
/// with *error set, if there is none or it lacks a function.
bool LoadCudaRuntime(CudaRuntime* runtime, std::string* error);

/// Any function of the library that LoadCudaRuntime has opened; null if there
/// is none of that name, or no library.
void* CudaRuntimeFunction(const char* name);

}  // namespace jaxkern

#endif  // JAXKERN_BACKENDS_CUDA_RUNTIME_H_

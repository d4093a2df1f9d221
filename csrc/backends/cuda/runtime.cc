#include "backends/cuda/runtime.h"

#include <dlfcn.h>

#include <cstdlib>
#include <type_traits>

namespace jaxkern {
namespace {

void* opened = nullptr;

void* Open(std::string* error) {
  // Global, so that a candidate's "NEEDED libcudart.so.13" is this one.
  constexpr int kMode = RTLD_NOW | RTLD_GLOBAL;
  if (const char* chosen = std::getenv("JAXKERN_CUDART")) {
    void* library = dlopen(chosen, kMode);
    if (library == nullptr) {
      *error = std::string("JAXKERN_CUDART: ") + dlerror();
    }
    return library;
  }
  for (const char* name : {"libcudart.so.13", "libcudart.so.12"}) {
    if (void* library = dlopen(name, kMode)) return library;
  }
  *error =
      "no CUDA runtime: searched JAXKERN_CUDART (not set) and the dynamic "
      "loader's path for libcudart.so.13 and .12";
  return nullptr;
}

}  // namespace

bool LoadCudaRuntime(CudaRuntime* runtime, std::string* error) {
  void* library = Open(error);
  if (library == nullptr) return false;
  opened = library;
  const auto find = [&](const char* name, auto* function) {
    *function = reinterpret_cast<std::remove_reference_t<decltype(*function)>>(
        dlsym(library, name));
    if (*function != nullptr) return true;
    *error = std::string("the CUDA runtime has no ") + name;
    return false;
  };
  CudaRuntime& r = *runtime;
  return find("cudaGetErrorName", &r.GetErrorName) &&
         find("cudaGetErrorString", &r.GetErrorString) &&
         find("cudaGetLastError", &r.GetLastError) &&
         find("cudaGetDeviceCount", &r.GetDeviceCount) &&
         find("cudaGetDeviceProperties", &r.GetDeviceProperties) &&
         find("cudaDeviceGetAttribute", &r.DeviceGetAttribute) &&
         find("cudaSetDevice", &r.SetDevice) &&
         find("cudaDeviceSynchronize", &r.DeviceSynchronize) &&
         find("cudaMemGetInfo", &r.MemGetInfo) &&
         find("cudaCtxResetPersistingL2Cache", &r.CtxResetPersistingL2Cache) &&
         find("cudaMalloc", &r.Malloc) && find("cudaFree", &r.Free) &&
         find("cudaMemcpy", &r.Memcpy) && find("cudaMemset", &r.Memset) &&
         find("cudaMemset2D", &r.Memset2D) &&
         find("cudaMemcpyAsync", &r.MemcpyAsync) &&
         find("cudaStreamSynchronize", &r.StreamSynchronize) &&
         find("cudaLaunchHostFunc", &r.LaunchHostFunc) &&
         find("cudaDeviceGetPCIBusId", &r.DeviceGetPCIBusId) &&
         find("cudaStreamCreate", &r.StreamCreate) &&
         find("cudaEventCreate", &r.EventCreate) &&
         find("cudaEventRecord", &r.EventRecord) &&
         find("cudaEventElapsedTime", &r.EventElapsedTime);
}

void* CudaRuntimeFunction(const char* name) {
  return opened != nullptr ? dlsym(opened, name) : nullptr;
}

}  // namespace jaxkern

// Streams, guards and the device.
#pragma once
#include "tensor.h"

namespace c10 {
namespace cuda {

/// The one that the evaluator gives to the call.
class CUDAStream {
 public:
  explicit CUDAStream(cudaStream_t stream) : stream_(stream) {}
  operator cudaStream_t() const { return stream_; }
  cudaStream_t stream() const { return stream_; }
  void synchronize() const {
    detail::CheckCuda(cudaStreamSynchronize(stream_));
  }
  int device_index() const { return 0; }
  Device device() const { return Device(kCUDA, 0); }

 private:
  cudaStream_t stream_;
};

inline CUDAStream getCurrentCUDAStream(int = -1) {
  return CUDAStream(detail::call.stream);
}
inline CUDAStream getDefaultCUDAStream(int = -1) {
  return getCurrentCUDAStream();
}

/// There is one device, and it is the current one.
struct CUDAGuard {
  explicit CUDAGuard(Device) {}
  explicit CUDAGuard(int) {}
  void set_device(Device) {}
  void set_index(int) {}
};
struct OptionalCUDAGuard {
  OptionalCUDAGuard() = default;
  template <class T>
  explicit OptionalCUDAGuard(const T&) {}
};
struct CUDAStreamGuard {
  explicit CUDAStreamGuard(const CUDAStream&) {}
};

inline int current_device() { return 0; }
inline int device_count() { return 1; }
inline void device_synchronize() { detail::CheckCuda(cudaDeviceSynchronize()); }

/// Untyped memory.
namespace CUDACachingAllocator {
struct Raw {
  void* data;
  size_t bytes;
  Raw* next;
};
static Raw* raw = nullptr;

inline void* raw_alloc(size_t bytes) {
  if (bytes == 0) return nullptr;
  auto* made = new Raw{nullptr, 0, raw};
  made->data = detail::pool.Take(bytes, &made->bytes);
  raw = made;
  return made->data;
}
inline void* raw_alloc_with_stream(size_t bytes, cudaStream_t) {
  return raw_alloc(bytes);
}
inline void raw_delete(void* data) {
  for (Raw** at = &raw; *at != nullptr; at = &(*at)->next) {
    Raw* found = *at;
    if (found->data != data) continue;
    *at = found->next;
    detail::pool.GiveBack(found->data, found->bytes);
    delete found;
    return;
  }
}
inline void emptyCache() {}
}  // namespace CUDACachingAllocator

}  // namespace cuda

inline Device device_of(const Tensor& tensor) { return tensor.device(); }
struct DeviceGuard {
  explicit DeviceGuard(Device) {}
};
struct OptionalDeviceGuard {
  OptionalDeviceGuard() = default;
  template <class T>
  explicit OptionalDeviceGuard(const T&) {}
};

}  // namespace c10

namespace at {
namespace cuda {
using namespace c10::cuda;
using OptionalCUDAGuard = c10::cuda::OptionalCUDAGuard;

static cudaDeviceProp device_properties;
static bool device_properties_read = false;
inline cudaDeviceProp* getCurrentDeviceProperties() {
  if (!device_properties_read) {
    c10::detail::CheckCuda(cudaGetDeviceProperties(&device_properties, 0));
    device_properties_read = true;
  }
  return &device_properties;
}
inline int warp_size() { return 32; }

template <class T>
T ATenCeilDiv(T a, T b) {
  return (a + b - 1) / b;
}
}  // namespace cuda
}  // namespace at

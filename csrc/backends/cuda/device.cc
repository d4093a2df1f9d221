#include "backends/device.h"

#include <algorithm>
#include <cstdio>

#include "backends/cuda/runtime.h"

namespace jaxkern {
namespace {

// cudaDeviceAttr
constexpr int kL2CacheSize = 38;
constexpr int kComputeCapabilityMajor = 75;
constexpr int kComputeCapabilityMinor = 76;
// cudaMemcpyKind
constexpr int kHostToDevice = 1;
constexpr int kDeviceToHost = 2;

std::string Gibibytes(size_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f GiB", bytes / 1073741824.0);
  return text;
}

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(const CudaRuntime& runtime) : cuda_(runtime) {}

  /// Creates the context and all that measuring needs. An error here is the
  /// machine's, not a candidate's.
  std::string Start() {
    int count = 0;
    int code = cuda_.GetDeviceCount(&count);
    if (code != kCudaSuccess || count == 0) {
      return "no GPU to use: " +
             (code != kCudaSuccess ? Name(code) : "none found") +
             " (`nvidia-smi` shows GPUs and driver)";
    }
    int major = 0, minor = 0, l2_bytes = 0;
    // The name comes first in every version of cudaDeviceProp, about 1 KiB.
    char properties[16384] = {};
    if ((code = cuda_.SetDevice(0)) || (code = cuda_.Free(nullptr)) ||
        (code = cuda_.GetDeviceProperties(properties, 0)) ||
        (code = cuda_.DeviceGetAttribute(&major, kComputeCapabilityMajor, 0)) ||
        (code = cuda_.DeviceGetAttribute(&minor, kComputeCapabilityMinor, 0)) ||
        (code = cuda_.DeviceGetAttribute(&l2_bytes, kL2CacheSize, 0)) ||
        (code = cuda_.StreamCreate(&stream_)) ||
        (code = cuda_.EventCreate(&start_)) ||
        (code = cuda_.EventCreate(&stop_))) {
      return "the GPU cannot be used: " + Name(code);
    }
    name_ = "cuda: " + std::string(properties) + ", sm_" +
            std::to_string(major) + std::to_string(minor);
    // At least 32 MiB: a chip may report no L2 cache, or a slice of it.
    flush_bytes_ = 4 * std::max<size_t>(l2_bytes, size_t{8} << 20);
    const DeviceError error = Allocate(flush_bytes_, &flush_);
    return error.code == kCudaSuccess
               ? ""
               : "no room to flush the L2 cache: " + error.message;
  }

  std::string Describe() const override { return name_; }

  int64_t FreeBytes() override {
    size_t free = 0, total = 0;
    return cuda_.MemGetInfo(&free, &total) == kCudaSuccess
               ? static_cast<int64_t>(free)
               : -1;
  }

  DeviceError Allocate(size_t bytes, void** pointer) override {
    // A zero-byte allocation would be a null pointer.
    DeviceError error =
        Check(cuda_.Malloc(pointer, std::max<size_t>(bytes, 1)));
    size_t free = 0, total = 0;
    if (error.out_of_memory && cuda_.MemGetInfo(&free, &total) == 0) {
      error.message += " (asked for " + Gibibytes(bytes) + ", free " +
                       Gibibytes(free) + " of " + Gibibytes(total) + ")";
    }
    return error;
  }

  void Free(void* pointer) override { Check(cuda_.Free(pointer)); }

  DeviceError CopyIn(void* device, const void* host, size_t bytes) override {
    return Check(cuda_.Memcpy(device, host, bytes, kHostToDevice));
  }

  DeviceError CopyOut(void* host, const void* device, size_t bytes) override {
    return Check(cuda_.Memcpy(host, device, bytes, kDeviceToHost));
  }

  DeviceError Fill(void* device, int byte, size_t bytes) override {
    const int code = cuda_.Memset(device, byte, bytes);
    return Check(code != kCudaSuccess ? code : cuda_.DeviceSynchronize());
  }

  DeviceError Run(Entry entry, void** arguments, int* returned) override {
    cuda_.GetLastError();
    *returned = entry(arguments, stream_);
    return Settle(*returned);
  }

  DeviceError Time(Entry entry, void** arguments, int warmup, int repetitions,
                   std::vector<double>* times_us) override {
    cuda_.GetLastError();
    for (int i = -warmup; i < repetitions; ++i) {
      double time_us = 0;
      const DeviceError error = TimeOnce(entry, arguments, &time_us);
      if (error.code != kCudaSuccess) return error;
      if (i >= 0) times_us->push_back(time_us);
    }
    return {};
  }

 private:
  /// The flush keeps the GPU busy while the host queues what follows it, so
  /// the host's launch latency falls outside of the timed window. Our stream
  /// waits for the default stream and the other way round: work a candidate
  /// puts there is inside the window too.
  DeviceError TimeOnce(Entry entry, void** arguments, double* time_us) {
    int code;
    if ((code = cuda_.MemsetAsync(flush_, 0, flush_bytes_, stream_)) ||
        (code = cuda_.EventRecord(start_, stream_))) {
      return Check(code);
    }
    const int returned = entry(arguments, stream_);
    code = cuda_.EventRecord(stop_, stream_);
    const DeviceError error =
        Settle(returned != kCudaSuccess ? returned : code);
    if (error.code != kCudaSuccess) return error;
    float milliseconds = 0;
    code = cuda_.EventElapsedTime(&milliseconds, start_, stop_);
    *time_us = milliseconds * 1e3;
    return Check(code);
  }

  /// Waits for the GPU, so that a fault of this launch is blamed on it and not
  /// on the next call; then the first error of: the fault, what `launch`
  /// returned, and what it swallowed.
  DeviceError Settle(int returned) {
    const int fault = cuda_.DeviceSynchronize();
    const int swallowed = cuda_.GetLastError();
    if (fault != kCudaSuccess) return Check(fault);
    return Check(returned != kCudaSuccess ? returned : swallowed);
  }

  std::string Name(int code) const {
    return std::string(cuda_.GetErrorName(code)) + ": " +
           cuda_.GetErrorString(code);
  }

  /// Success, or the error with its classes; the runtime's error state is
  /// clean afterwards unless the error is fatal.
  DeviceError Check(int code) {
    DeviceError error;
    if (code == kCudaSuccess) return error;
    error.code = code;
    error.message = Name(code);
    error.out_of_memory = code == kCudaMemoryAllocation;
    error.unsupported = code == kCudaNoKernelImageForDevice ||
                        code == kCudaUnsupportedPtxVersion ||
                        code == kCudaNotSupported;
    // An error that survives being cleared has taken the context with it. The
    // list of such errors grows with every release; asking needs no list.
    cuda_.GetLastError();
    error.fatal = cuda_.DeviceSynchronize() != kCudaSuccess;
    cuda_.GetLastError();
    return error;
  }

  const CudaRuntime cuda_;
  std::string name_;
  CudaStream stream_ = nullptr;
  CudaEvent start_ = nullptr;
  CudaEvent stop_ = nullptr;
  void* flush_ = nullptr;
  size_t flush_bytes_ = 0;
};

}  // namespace

std::unique_ptr<Device> MakeCudaDevice(std::string* error) {
  CudaRuntime runtime{};
  if (!LoadCudaRuntime(&runtime, error)) return nullptr;
  auto device = std::make_unique<CudaDevice>(runtime);
  *error = device->Start();
  if (!error->empty()) return nullptr;
  return device;
}

}  // namespace jaxkern

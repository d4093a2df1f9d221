#include "backends/device.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>

#include "backends/cuda/hooks.h"
#include "backends/cuda/kernels.h"
#include "backends/cuda/runtime.h"
#include "backends/cuda/threads.h"

namespace jaxkern {
namespace {

// cudaDeviceAttr
constexpr int kL2CacheSize = 38;
constexpr int kComputeCapabilityMajor = 75;
constexpr int kComputeCapabilityMinor = 76;
// cudaMemcpyKind
constexpr int kHostToDevice = 1;
constexpr int kDeviceToHost = 2;
constexpr int kDeviceToDevice = 3;
// Longer than queueing any batch takes, short for one that waits in between.
constexpr double kGateUs = 2000;
constexpr size_t kFlushPieces = 64;
constexpr size_t kMaxPitch = 0x7fffffff;

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
    char place[32] = "";
    if (cuda_.DeviceGetPCIBusId(place, sizeof place, 0) == kCudaSuccess) {
      name_ += std::string(", ") + place;
    }
    // At least 32 MiB: a chip may report no L2 cache, or a slice of it.
    flush_bytes_ = 4 * std::max<size_t>(l2_bytes, size_t{8} << 20);
    DeviceError error = Allocate(flush_bytes_, &flush_);
    if (error.code == kCudaSuccess) error = Fill(flush_, 0, flush_bytes_);
    if (error.code != kCudaSuccess) {
      return "no room to flush the L2 cache: " + error.message;
    }
    read_limit_ = MeasureReadLimit();
    StartKernels();
    return "";
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

  DeviceError FillPieces(const Pieces& pieces, int byte) override {
    if (!IsOneCall(pieces)) return Device::FillPieces(pieces, byte);
    const int code = cuda_.Memset2D(pieces.first, pieces.stride, byte,
                                    pieces.bytes, pieces.count);
    return Check(code != kCudaSuccess ? code : cuda_.DeviceSynchronize());
  }

  DeviceError CopyPiecesWithin(const Pieces& to,
                               const std::vector<const char*>& from) override {
    if (found_ != nullptr) return Check(kernels_.Gather(to, from, stream_));
    int code = kCudaSuccess;
    for (size_t i = 0; i < to.count && code == kCudaSuccess; ++i) {
      code = cuda_.MemcpyAsync(to.at(i), from[i], to.bytes, kDeviceToDevice,
                               stream_);
    }
    return Check(code);
  }

  DeviceError FindOther(const std::vector<Pieces>& all, int byte,
                        bool* found) override {
    if (found_ == nullptr) return Device::FindOther(all, byte, found);
    int code = cuda_.Memset(found_, 0, sizeof(int));
    for (const Pieces& pieces : all) {
      if (code != kCudaSuccess) break;
      code = kernels_.FindOther(pieces, byte, found_, stream_);
    }
    return ReadFound(code, found);
  }

  DeviceError FindDifferent(const std::vector<Twins>& all,
                            bool* found) override {
    *found = true;
    if (found_ == nullptr) return {};
    int code = cuda_.Memset(found_, 0, sizeof(int));
    for (const Twins& twins : all) {
      if (code != kCudaSuccess) break;
      code = kernels_.FindDifferent(twins, found_, stream_);
    }
    return ReadFound(code, found);
  }

  DeviceError Measure(const Batch& batch, Mode mode,
                      Measurement* measured) override {
    // What a candidate asked the cache to keep. Not every GPU can do that.
    cuda_.CtxResetPersistingL2Cache();
    cuda_.GetLastError();
    int code = kCudaSuccess;
    // The flush comes behind the gate: the GPU goes from it to the first launch
    // without a pause, which would count as the launch's.
    if (mode.queue_ahead) {
      code = CloseGate();
    }
    if (code == kCudaSuccess && mode.flush) code = Flush();
    if (code == kCudaSuccess && !mode.queue_ahead) {
      code = cuda_.DeviceSynchronize();
    }
    if (code != kCudaSuccess) return Check(code);
    return Launch(batch, measured);
  }

  int MaxBatch() const override { return 32; }

  double ReadLimit() const override { return read_limit_; }

  int OtherThreads() const override { return CandidateThreads(); }

 private:
  using Clock = std::chrono::steady_clock;

  /// Rows of an image, as the runtime calls them, may not be too far apart.
  static bool IsOneCall(const Pieces& pieces) {
    return pieces.count > 1 && pieces.bytes > 0 && pieces.stride <= kMaxPitch;
  }

  static double Since(Clock::time_point start) {
    return std::chrono::duration<double, std::micro>(Clock::now() - start)
        .count();
  }

  /// What kernels have left in found_; `code` is theirs.
  DeviceError ReadFound(int code, bool* found) {
    int value = 0;
    if (code == kCudaSuccess) {
      code = cuda_.Memcpy(&value, found_, sizeof value, kDeviceToHost);
    }
    *found = value != 0;
    return Check(code);
  }

  /// Has each of them loaded and compiled, where that can be done.
  void StartKernels() {
    void* found = nullptr;
    if (!kernels_.Load() || Allocate(sizeof(int), &found).code != 0) return;
    const Pieces pieces = {static_cast<char*>(flush_), 16, 16, 1};
    found_ = static_cast<int*>(found);
    bool other = false;
    const int gated = CloseGate();
    OpenGate();
    if (gated != kCudaSuccess || Flush() != kCudaSuccess ||
        CopyPiecesWithin(pieces, {pieces.first}).code != kCudaSuccess ||
        FindOther({pieces}, 0, &other).code != kCudaSuccess ||
        FindDifferent({{flush_, flush_, 16}}, &other).code != kCudaSuccess) {
      found_ = nullptr;
    }
  }

  /// Fills the cache with what has been read. Lines that have been written
  /// would have to be written back in the candidate's time.
  int Flush() {
    if (found_ != nullptr) {
      return kernels_.ReadAll(flush_, flush_bytes_, stream_);
    }
    const size_t piece = flush_bytes_ / kFlushPieces;
    int code = kCudaSuccess;
    for (size_t i = 1; i < kFlushPieces && code == kCudaSuccess; ++i) {
      code = cuda_.MemcpyAsync(flush_, static_cast<char*>(flush_) + i * piece,
                               piece, kDeviceToDevice, stream_);
    }
    return code;
  }

  /// Holds the stream back until the host has queued what is to be timed, so
  /// that its launch latency falls outside of the window between the events. A
  /// launch that waits for the stream itself opens the gate by taking long.
  int CloseGate() {
    if (found_ != nullptr) return kernels_.CloseGate(kGateUs, stream_);
    gate_ = false;
    return cuda_.LaunchHostFunc(stream_, WaitForGate, &gate_);
  }

  void OpenGate() {
    if (found_ != nullptr) kernels_.OpenGate();
    gate_ = true;
  }

  static void WaitForGate(void* gate) {
    const auto start = Clock::now();
    const auto* open = static_cast<std::atomic<bool>*>(gate);
    while (!*open && Since(start) < kGateUs) {
    }
  }

  /// Our stream waits for the default stream and the other way round: work a
  /// candidate puts there is between the events too.
  DeviceError Launch(const Batch& batch, Measurement* measured) {
    StartCounting(stream_);
    const auto start = Clock::now();
    int code = cuda_.EventRecord(start_, stream_);
    for (void** arguments : batch.arguments) {
      const int returned = batch.entry(arguments, stream_);
      if (measured->returned == kCudaSuccess) measured->returned = returned;
    }
    const int stopped = cuda_.EventRecord(stop_, stream_);
    if (code == kCudaSuccess) code = stopped;
    const CudaWork work = CountedWork();
    OpenGate();
    for (const Readback& s : batch.snapshots) {
      const int copied =
          cuda_.MemcpyAsync(s.to, s.from, s.bytes, kDeviceToHost, stream_);
      if (code == kCudaSuccess) code = copied;
    }
    cuda_.StreamSynchronize(stream_);
    const double stream_us = Since(start);
    const DeviceError error =
        Settle(measured->returned != kCudaSuccess ? measured->returned : code);
    if (error.code != kCudaSuccess) return error;
    measured->wall_us = Since(start);
    measured->late_us = measured->wall_us - stream_us;
    measured->work = work.count;
    measured->unjoined = work.unjoined;
    measured->host_writes = work.host_writes;
    float milliseconds = 0;
    code = cuda_.EventElapsedTime(&milliseconds, start_, stop_);
    measured->device_us = milliseconds * 1e3;
    return Check(code);
  }

  /// Reading cannot be faster than a copy reads and writes together, with a
  /// quarter to spare. 0 if it cannot be measured.
  double MeasureReadLimit() {
    const size_t half = flush_bytes_ / 2;
    float milliseconds = 0;
    for (int i = 0; i < 2; ++i) {  // the first one warms up
      if (cuda_.EventRecord(start_, stream_) != kCudaSuccess ||
          cuda_.MemcpyAsync(flush_, static_cast<char*>(flush_) + half, half,
                            kDeviceToDevice, stream_) != kCudaSuccess ||
          cuda_.EventRecord(stop_, stream_) != kCudaSuccess ||
          cuda_.StreamSynchronize(stream_) != kCudaSuccess ||
          cuda_.EventElapsedTime(&milliseconds, start_, stop_) !=
              kCudaSuccess) {
        return 0;
      }
    }
    return milliseconds > 0
               ? 1.25 * static_cast<double>(2 * half) / (milliseconds * 1e3)
               : 0;
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
  double read_limit_ = 0;
  CudaKernels kernels_;
  int* found_ = nullptr;  // on the device; null: without kernels_
  std::atomic<bool> gate_{false};
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

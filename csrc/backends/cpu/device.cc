#include "backends/device.h"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "backends/cpu/checker.h"
#include "backends/cpu/runtime.h"
#include "core/count_entries.h"

namespace jaxkern {
namespace {

// More than the last-level cache share of one core on common processors.
constexpr size_t kFlushBytes = size_t{16} << 20;

std::string Processor() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.rfind("model name", 0) == 0) {
      const size_t colon = line.find(": ");
      if (colon != std::string::npos) return line.substr(colon + 2);
    }
  }
  return "unknown processor";
}

DeviceError Describe(cudaError code) {
  DeviceError error;
  error.code = code;
  if (code == cudaSuccess) return error;
  error.message =
      std::string(cudaGetErrorName(code)) + ": " + cudaGetErrorString(code);
  error.out_of_memory = code == cudaErrorMemoryAllocation;
  return error;
}

/// After a launch: a kernel's fault, else an error that `launch` left behind.
DeviceError AfterLaunch() {
  std::string fault = KernelFault();
  if (fault.empty() && Checker::Get()) fault = Checker::Get()->Hint();
  if (fault.empty()) return Describe(TakeLastError());
  DeviceError error;
  error.code = cudaErrorLaunchFailure;
  error.message = fault;
  error.fatal = true;
  error.unsupported =
      fault.find("not available on the cpu device") != std::string::npos;
  return error;
}

class CpuDevice : public Device {
 public:
  std::string Describe() const override {
    return "cpu: " + Processor() + ", " + std::to_string(RuntimeThreads()) +
           " threads";
  }

  DeviceError Allocate(size_t bytes, void** pointer) override {
    return jaxkern::Describe(jaxkern_malloc(pointer, bytes ? bytes : 1, false));
  }

  void Expose(void* pointer, size_t bytes) override {
    if (auto* checker = Checker::Get()) checker->Expose(pointer, bytes);
  }

  void Free(void* pointer) override { cudaFree(pointer); }

  DeviceError CopyIn(void* device, const void* host, size_t bytes) override {
    std::memcpy(device, host, bytes);
    if (auto* checker = Checker::Get()) checker->MarkInitialised(device, bytes);
    return {};
  }

  DeviceError CopyOut(void* host, const void* device, size_t bytes) override {
    std::memcpy(host, device, bytes);
    return {};
  }

  DeviceError Fill(void* device, int byte, size_t bytes) override {
    std::memset(device, byte, bytes);
    return {};
  }

  DeviceError Measure(const Batch& batch, Mode mode,
                      Measurement* measured) override {
    using Clock = std::chrono::steady_clock;
    if (mode.flush) {
      flush_.resize(kFlushBytes);
      std::memset(flush_.data(), ++flushes_, flush_.size());
    }
    TakeHostWrites();
    const RuntimeWork before = WorkSoFar();
    const int64_t processor_start = ProcessorTime();
    const auto start = Clock::now();
    for (void** arguments : batch.arguments) {
      const int returned = batch.entry(arguments, nullptr);
      if (measured->returned == 0) measured->returned = returned;
    }
    const auto stop = Clock::now();
    const int64_t processor_stop = ProcessorTime();
    const RuntimeWork after = WorkSoFar();
    for (const Readback& s : batch.snapshots) {
      std::memcpy(s.to, s.from, s.bytes);
    }
    measured->wall_us =
        std::chrono::duration<double, std::micro>(stop - start).count();
    measured->device_us = measured->wall_us;
    measured->busy_us = after.us - before.us;
    measured->host_us =
        static_cast<double>(processor_stop - processor_start) / 1e3 -
        measured->busy_us;
    measured->work = after.count - before.count;
    measured->host_writes = TakeHostWrites();
    return AfterLaunch();
  }

  int OtherThreads() const override {
    return CountEntries("/proc/self/task") - PoolThreads();
  }

 private:
  std::vector<char> flush_;
  int flushes_ = 0;
};

}  // namespace

std::unique_ptr<Device> MakeCpuDevice(std::string*) {
  return std::make_unique<CpuDevice>();
}

}  // namespace jaxkern

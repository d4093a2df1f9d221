// A device in 100 lines: host memory, and a launch is a call. It measures what
// the candidate tells it to by calling fake(). As "cuda" it shows what a device
// does whose workers are kept, and which batches launches, as "cpu" what a
// checker may say.
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "backends/device.h"
#include "core/count_entries.h"

namespace jaxkern {
namespace {

constexpr int kMemoryAllocation = 2;
constexpr int kIllegalAddress = 700;
constexpr int kFinding = 10000, kHint = 10001;

Measurement launch;  // the present one

class FakeDevice final : public Device {
 public:
  explicit FakeDevice(bool cuda) : cuda_(cuda) {}

  std::string Describe() const override {
    return "fake device of process " + std::to_string(getpid());
  }

  int64_t FreeBytes() override { return int64_t{1} << 30; }

  DeviceError Allocate(size_t bytes, void** pointer) override {
    *pointer = std::malloc(bytes);
    if (*pointer != nullptr) return {};
    return {kMemoryAllocation, "no memory", true, false, false};
  }
  void Free(void* pointer) override { std::free(pointer); }
  DeviceError CopyIn(void* device, const void* host, size_t bytes) override {
    if (bytes > 0) std::memcpy(device, host, bytes);
    return {};
  }
  DeviceError CopyOut(void* host, const void* device, size_t bytes) override {
    if (bytes > 0) std::memcpy(host, device, bytes);
    return {};
  }
  DeviceError Fill(void* device, int byte, size_t bytes) override {
    std::memset(device, byte, bytes);
    return {};
  }

  DeviceError Measure(const Batch& batch, Mode mode,
                      Measurement* measured) override {
    *measured = {};
    measured->wall_us = 20;
    measured->work = 0;
    for (void** arguments : batch.arguments) {
      launch = {};
      launch.device_us = 2;
      launch.work = 1;
      const int returned = batch.entry(arguments, nullptr);
      if (returned == kIllegalAddress) {
        return {kIllegalAddress, "illegal address", false, true, false};
      }
      if (!cuda_ && returned == kFinding) {
        return {returned, "finding: {F:10}: a fault", false, true, false};
      }
      if (!cuda_ && returned == kHint) {
        return {returned, "hint: perhaps a fault", false, true, false};
      }
      if (returned != 0) measured->returned = returned;
      measured->device_us += launch.device_us;
      measured->unjoined += launch.unjoined;
      measured->work += launch.work;
      if (mode.queue_ahead) continue;
      measured->wall_us += launch.wall_us;
      measured->late_us += launch.late_us;
      measured->host_us += launch.host_us;
    }
    for (const Readback& s : batch.snapshots) {
      std::memcpy(s.to, s.from, s.bytes);
    }
    return {};
  }
  int MaxBatch() const override { return cuda_ ? 4 : 1; }
  double ReadLimit() const override { return 8; }
  int OtherThreads() const override { return CountEntries("/proc/self/task"); }

 private:
  const bool cuda_;
};

/// While the file that $JAXKERN_FAKE_BROKEN names exists, no device works.
std::unique_ptr<Device> MakeFakeDevice(bool cuda, std::string* error) {
  const char* broken = std::getenv("JAXKERN_FAKE_BROKEN");
  if (broken == nullptr || access(broken, F_OK) != 0) {
    return std::make_unique<FakeDevice>(cuda);
  }
  *error = "the device fell off the bus";
  return nullptr;
}

}  // namespace

std::unique_ptr<Device> MakeCpuDevice(std::string* error) {
  return MakeFakeDevice(/*cuda=*/false, error);
}
std::unique_ptr<Device> MakeCudaDevice(std::string* error) {
  return MakeFakeDevice(/*cuda=*/true, error);
}

}  // namespace jaxkern

/// For candidates: what the present launch shall have been measured at.
extern "C" __attribute__((visibility("default"))) void fake(const char* what,
                                                            double value) {
  jaxkern::Measurement& launch = jaxkern::launch;
  const std::string name = what;
  if (name == "us") launch.device_us = value;
  if (name == "late") launch.late_us = value;
  if (name == "wall") launch.wall_us = value;
  if (name == "host") launch.host_us = value;
  if (name == "work") launch.work = static_cast<int64_t>(value);
  if (name == "unjoined") launch.unjoined = static_cast<int64_t>(value);
}

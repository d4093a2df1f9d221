// A device in 70 lines: host memory, and a launch is a call. As "cuda" it shows
// what a device does whose workers are kept, as "cpu" what a checker may say.
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "backends/device.h"

namespace jaxkern {
namespace {

constexpr int kMemoryAllocation = 2;
constexpr int kIllegalAddress = 700;
constexpr int kFinding = 10000, kHint = 10001;

class FakeDevice final : public Device {
 public:
  explicit FakeDevice(bool checks) : checks_(checks) {}

  std::string Describe() const override {
    return "fake device of process " + std::to_string(getpid());
  }

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

  DeviceError Run(Entry entry, void** arguments, int* returned) override {
    *returned = entry(arguments, nullptr);
    if (checks_ && *returned == kFinding) {
      return {*returned, "finding: {F:10}: a fault", false, true, false};
    }
    if (checks_ && *returned == kHint) {
      return {*returned, "hint: perhaps a fault", false, true, false};
    }
    if (*returned != kIllegalAddress) return {};
    return {kIllegalAddress, "illegal address", false, true, false};
  }

  DeviceError Time(Entry entry, void** arguments, int warmup, int repetitions,
                   std::vector<double>* times_us) override {
    for (int i = 0; i < warmup + repetitions; ++i) {
      const int microseconds = entry(arguments, nullptr);
      if (i >= warmup) times_us->push_back(microseconds == 0 ? 2 : 1);
    }
    return {};
  }

 private:
  const bool checks_;
};

}  // namespace

std::unique_ptr<Device> MakeCpuDevice(std::string*) {
  return std::make_unique<FakeDevice>(true);
}
std::unique_ptr<Device> MakeCudaDevice(std::string*) {
  return std::make_unique<FakeDevice>(false);
}

}  // namespace jaxkern

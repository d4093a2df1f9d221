// A device in 60 lines: host memory, and a launch is a call. As "cuda" it shows
// what a device does whose workers are kept.
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "backends/device.h"

namespace jaxkern {
namespace {

constexpr int kMemoryAllocation = 2;
constexpr int kIllegalAddress = 700;

class FakeDevice final : public Device {
 public:
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

  DeviceError Run(Entry entry, void** arguments, int* returned) override {
    *returned = entry(arguments, nullptr);
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
};

}  // namespace

/// While the file that $JAXKERN_FAKE_BROKEN names exists, no device works.
std::unique_ptr<Device> MakeCpuDevice(std::string* error) {
  const char* broken = std::getenv("JAXKERN_FAKE_BROKEN");
  if (broken == nullptr || access(broken, F_OK) != 0) {
    return std::make_unique<FakeDevice>();
  }
  *error = "the device fell off the bus";
  return nullptr;
}
std::unique_ptr<Device> MakeCudaDevice(std::string* error) {
  return MakeCpuDevice(error);
}

}  // namespace jaxkern

#include "backends/cuda/nvml.h"

#include <dlfcn.h>

#include <type_traits>

namespace jaxkern {
namespace {

// nvmlClockType_t and nvmlTemperatureSensors_t
constexpr int kSmClock = 1;
constexpr int kMemoryClock = 2;
constexpr int kGpuSensor = 0;
// nvmlClocksEventReason*: the power cap, and what hardware and heat ask for.
// An idle GPU and clocks that somebody has set are no slowdown.
constexpr unsigned long long kThrottled = 0x4 | 0x8 | 0x20 | 0x40 | 0x80;

using NvmlDevice = void*;

/// Each member is the function of that name with "nvmlDevice" in front; all
/// return 0 for success.
struct Nvml {
  Nvml() {
    void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return;
    const auto find = [library](const char* name, auto* function) {
      *function =
          reinterpret_cast<std::remove_reference_t<decltype(*function)>>(
              dlsym(library, name));
      return *function != nullptr;
    };
    int (*init)() = nullptr;
    usable = find("nvmlInit_v2", &init) &&
             find("nvmlDeviceGetHandleByPciBusId_v2", &GetHandle) &&
             find("nvmlDeviceGetClockInfo", &GetClockInfo) &&
             find("nvmlDeviceGetTemperature", &GetTemperature) &&
             // The second name is that of drivers before 535.
             (find("nvmlDeviceGetCurrentClocksEventReasons", &GetReasons) ||
              find("nvmlDeviceGetCurrentClocksThrottleReasons", &GetReasons)) &&
             init() == 0;
  }

  bool usable = false;
  int (*GetHandle)(const char*, NvmlDevice*) = nullptr;
  int (*GetClockInfo)(NvmlDevice, int, unsigned*) = nullptr;
  int (*GetTemperature)(NvmlDevice, int, unsigned*) = nullptr;
  int (*GetReasons)(NvmlDevice, unsigned long long*) = nullptr;
};

}  // namespace

std::optional<ClockReading> ReadGpuClocks(const std::string& pci_address) {
  static const Nvml nvml;
  NvmlDevice device = nullptr;
  unsigned sm = 0, memory = 0, temperature = 0;
  unsigned long long reasons = 0;
  if (!nvml.usable || nvml.GetHandle(pci_address.c_str(), &device) != 0 ||
      nvml.GetClockInfo(device, kSmClock, &sm) != 0 ||
      nvml.GetClockInfo(device, kMemoryClock, &memory) != 0 ||
      nvml.GetTemperature(device, kGpuSensor, &temperature) != 0 ||
      nvml.GetReasons(device, &reasons) != 0) {
    return std::nullopt;
  }
  return ClockReading{static_cast<int>(sm), static_cast<int>(memory),
                      static_cast<int>(temperature),
                      (reasons & kThrottled) != 0};
}

}  // namespace jaxkern

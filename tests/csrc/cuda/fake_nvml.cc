// A stand-in for libnvidia-ml.so.1 with one GPU. `JAXKERN_FAKE_NVML` in the
// environment changes it: "hot", "failing".
#include <cstdlib>
#include <cstring>

namespace {

bool Is(const char* what) {
  const char* mood = std::getenv("JAXKERN_FAKE_NVML");
  return mood != nullptr && std::strcmp(mood, what) == 0;
}

int device;
bool started = false;

}  // namespace

extern "C" {

int nvmlInit_v2() {
  started = true;
  return 0;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char* address, void** handle) {
  if (!started || std::strcmp(address, "0000:1B:00.0") != 0) return 6;
  *handle = &device;
  return 0;
}

int nvmlDeviceGetClockInfo(void* handle, int clock, unsigned* mhz) {
  if (handle != &device || Is("failing")) return 3;
  *mhz = clock == 1 ? (Is("hot") ? 1200 : 1980) : clock == 2 ? 2619 : 0;
  return 0;
}

int nvmlDeviceGetTemperature(void* handle, int sensor, unsigned* celsius) {
  if (handle != &device || sensor != 0) return 2;
  *celsius = Is("hot") ? 88 : 31;
  return 0;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(void* handle,
                                              unsigned long long* reasons) {
  if (handle != &device) return 2;
  *reasons = Is("hot") ? 0x20 : 0x1 | 0x2;  // thermal; idle, applications
  return 0;
}

}  // extern "C"

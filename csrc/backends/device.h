/// What a worker process needs from a device to run one candidate. It lives in
/// the worker executable only: a candidate that corrupts it costs one result.
#ifndef JAXKERN_BACKENDS_DEVICE_H_
#define JAXKERN_BACKENDS_DEVICE_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace jaxkern {

/// A candidate's trampoline: `arguments[i]` points at the i-th argument of
/// `launch` (a device pointer, int64_t, float or bool). Returns what it
/// returned, a cudaError_t.
using Entry = int (*)(void** arguments, void* stream);

/// What went wrong on the device; code 0 is success, else a cudaError_t.
struct DeviceError {
  int code = 0;
  std::string message;  ///< "cudaErrorIllegalAddress: an illegal ..."
  bool out_of_memory = false;
  bool fatal = false;  ///< the context is lost; this process must be replaced
  bool unsupported = false;  ///< the device lacks the feature `message` names
};

class Device {
 public:
  virtual ~Device() = default;

  /// "cpu: <processor>, <threads> threads" or "cuda: <GPU>, sm_90".
  virtual std::string Describe() const = 0;

  virtual DeviceError Allocate(size_t bytes, void** pointer) = 0;
  virtual void Free(void* pointer) = 0;
  /// Of a buffer, these bytes alone are what a kernel may touch.
  virtual void Expose(void* /*pointer*/, size_t /*bytes*/) {}
  virtual DeviceError CopyIn(void* device, const void* host, size_t bytes) = 0;
  virtual DeviceError CopyOut(void* host, const void* device, size_t bytes) = 0;
  virtual DeviceError Fill(void* device, int byte, size_t bytes) = 0;

  /// One launch, then a device-wide synchronise and an error query. `returned`
  /// is what `launch` gave back; an error it swallowed is in the result.
  virtual DeviceError Run(Entry entry, void** arguments, int* returned) = 0;

  /// `repetitions` timed launches after `warmup` untimed ones, each after a
  /// cache flush; microseconds appended to `times_us`. CUDA events on cuda,
  /// the host's clock around the launch on cpu.
  virtual DeviceError Time(Entry entry, void** arguments, int warmup,
                           int repetitions, std::vector<double>* times_us) = 0;
};

/// Both return nullptr and set *error when the device cannot be used.
std::unique_ptr<Device> MakeCpuDevice(std::string* error);
std::unique_ptr<Device> MakeCudaDevice(std::string* error);

}  // namespace jaxkern

#endif  // JAXKERN_BACKENDS_DEVICE_H_

/// The inputs of a case.
#ifndef JAXKERN_WORKER_INPUTS_H_
#define JAXKERN_WORKER_INPUTS_H_

#include <cstddef>
#include <map>

#include "backends/device.h"
#include "core/protocol.h"

namespace jaxkern {

/// They lie in the job's block; who launches often puts them on the device,
/// too, where the arguments of many launches are filled from at once.
class Inputs {
 public:
  /// `block` is the job's block of inputs, which must outlive this.
  Inputs(Device* device, const JobCase& c, const char* block)
      : device_(device), case_(c), block_(block) {}
  ~Inputs();
  Inputs(const Inputs&) = delete;
  Inputs& operator=(const Inputs&) = delete;

  /// Copies all variants to the device if that pays and they take no more than
  /// `room` bytes.
  DeviceError Store(size_t room);

  /// A variant's i-th input.
  const char* host(int variant, size_t i) const {
    return block_ + Offset(variant, i);
  }

  /// The same on the device; null if it is not there.
  const char* device(int variant, size_t i) const;

 private:
  size_t Offset(int variant, size_t i) const {
    return case_.inputs[static_cast<size_t>(variant)][i];
  }

  Device* device_;
  const JobCase& case_;
  const char* block_;
  void* stored_ = nullptr;
  std::map<size_t, size_t> places_;  // in stored_, by offset in the block
};

}  // namespace jaxkern

#endif  // JAXKERN_WORKER_INPUTS_H_

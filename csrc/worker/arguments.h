/// The arrays of a launch on the device.
#ifndef JAXKERN_WORKER_ARGUMENTS_H_
#define JAXKERN_WORKER_ARGUMENTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "backends/device.h"
#include "core/protocol.h"

namespace jaxkern {

/// How arrays lie in the device's memory.
enum class Layout {
  kGuarded,  ///< between two zones that nobody may write to
  kExact,    ///< each an allocation of just its size, for memory checkers
};

/// One buffer per array, and the argument pointers that a launch gets.
class Arguments {
 public:
  Arguments(Device* device, const JobCase& c, Layout layout = Layout::kGuarded);
  ~Arguments();
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;

  /// Must succeed before anything else is called.
  DeviceError Allocate();

  /// Copies a variant's inputs in and poisons the outputs; exact ones stay as
  /// they were allocated, so that reading them can be noticed.
  DeviceError Fill(const char* inputs, int variant);

  /// As Fill, but by way of the host. If anew, the last bits of floats are
  /// drawn from `bits`: contents that no launch has had. Zeros, denormals and
  /// what is not finite stay; so do integers, which may be indices. If not, the
  /// contents are the variant's after the same work: before a short launch a
  /// GPU that has waited is slower.
  DeviceError FillByHost(const char* inputs, int variant, bool anew,
                         uint64_t* bits);

  /// Zeros for all.
  DeviceError FillWithZeros();

  /// The outputs' way into a slot of the results.
  void AddSnapshots(char* slot, std::vector<Readback>* snapshots) const;

  /// The inputs as they are now, into a slot.
  DeviceError ReadInputs(char* slot) const;

  /// The arrays in a slot that differ from the outputs as they are now.
  DeviceError FindChanged(const char* slot, std::string* names) const;

  /// True if an output in the slot still holds its poison somewhere.
  bool HoldsPoison(const char* slot) const;

  /// True if there is anything to be written.
  bool HasOutput() const;

  /// What was written outside the arrays, e.g. "wrote 8 bytes past the end of
  /// y"; "" if nothing was.
  DeviceError CheckZones(std::string* overrun) const;

  /// An output that a launch filled from the host, at least in part; "": none.
  std::string FilledFromHost(const std::vector<HostWrite>& writes) const;

  /// Device memory of one set.
  static size_t Bytes(const JobCase& c);

  void** pointers() { return pointers_.data(); }

  /// Where the array of the i-th argument lies; null for attributes.
  const void* array(size_t i) const { return buffers_[i]; }

 private:
  Device* device_;
  const JobCase& case_;
  const size_t zone_;  // bytes of each; 0: there are none
  std::vector<Attribute> attributes_;
  std::vector<void*> blocks_;   // by argument; null for attributes
  std::vector<void*> buffers_;  // the arrays in them
  std::vector<void*> pointers_;
};

}  // namespace jaxkern

#endif  // JAXKERN_WORKER_ARGUMENTS_H_

/// The arrays of a launch on the device.
#ifndef JAXKERN_WORKER_ARGUMENTS_H_
#define JAXKERN_WORKER_ARGUMENTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "backends/device.h"
#include "core/protocol.h"
#include "worker/inputs.h"

namespace jaxkern {

/// As far apart as allocations are at least.
constexpr size_t Aligned(size_t bytes) { return (bytes + 255) / 256 * 256; }

/// How arrays lie in the device's memory.
enum class Layout {
  kGuarded,  ///< between two zones that nobody may write to
  kExact,    ///< each an allocation of just its size, for memory checkers
};

/// The arrays of some launches, of each the pointers that it gets. A set has a
/// place of its own in every array's block, so that all sets are written and
/// looked at together.
class Arguments {
 public:
  Arguments(Device* device, const JobCase& c, Layout layout = Layout::kGuarded,
            size_t sets = 1);
  ~Arguments();
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;

  /// Must succeed before anything else is called.
  DeviceError Allocate();

  /// Copies into the first sets a variant's inputs each, and poisons their
  /// outputs; exact ones stay as they were allocated, so that reading them can
  /// be noticed.
  DeviceError Fill(const Inputs& inputs, const std::vector<int>& variants);

  /// As Fill of the first set, but by way of the host. If anew, the last bits
  /// of floats are drawn from `bits`: contents that no launch has had. Zeros,
  /// denormals and what is not finite stay; so do integers, which may be
  /// indices. If not, the contents are the variant's after the same work:
  /// before a short launch a GPU that has waited is slower.
  DeviceError FillByHost(const Inputs& inputs, int variant, bool anew,
                         uint64_t* bits);

  /// Zeros for all.
  DeviceError FillWithZeros();

  /// The way of a set's outputs into a slot of the results.
  void AddSnapshots(size_t set, char* slot,
                    std::vector<Readback>* snapshots) const;

  /// A set's inputs beside the variant that they were filled with, as it lies
  /// on the device. False if it does not.
  bool AddInputs(size_t set, const Inputs& inputs, int variant,
                 std::vector<Twins>* twins) const;

  /// A set's inputs as they are now, into a slot.
  DeviceError ReadInputs(size_t set, char* slot) const;

  /// The arrays in a slot that differ from the first set's outputs as they are
  /// now.
  DeviceError FindChanged(const char* slot, std::string* names) const;

  /// True if an output in the slot still holds its poison somewhere.
  bool HoldsPoison(const char* slot) const;

  /// True if there is anything to be written.
  bool HasOutput() const;

  /// What was ever written outside the arrays, e.g. "wrote 8 bytes past the end
  /// of y"; "" if nothing was.
  DeviceError CheckZones(std::string* overrun) const;

  /// An output that a launch filled from the host, at least in part; "": none.
  std::string FilledFromHost(const std::vector<HostWrite>& writes) const;

  /// Device memory of one set.
  static size_t Bytes(const JobCase& c);

  size_t sets() const { return sets_.size(); }

  void** pointers(size_t set) { return sets_[set].pointers.data(); }

  /// Where the first set's array of the i-th argument lies; null for
  /// attributes.
  const void* array(size_t i) const { return sets_[0].buffers[i]; }

 private:
  struct Set {
    std::vector<Attribute> attributes;
    std::vector<void*> buffers;   // by argument; null for attributes
    std::vector<void*> pointers;  // to the former two
  };

  /// The arrays of an argument, of that many sets.
  Pieces Arrays(size_t argument, size_t sets) const;
  /// The zones behind an argument's arrays, or those before them.
  Pieces Zones(size_t argument, bool after) const;
  DeviceError CopyInputs(const Pieces& arrays, const Inputs& inputs,
                         const std::vector<int>& variants, size_t input);
  DeviceError DescribeZones(std::string* overrun) const;

  Device* device_;
  const JobCase& case_;
  const size_t zone_;          // bytes of each; 0: there are none
  std::vector<void*> blocks_;  // by argument; null for attributes
  std::vector<Set> sets_;
};

}  // namespace jaxkern

#endif  // JAXKERN_WORKER_ARGUMENTS_H_

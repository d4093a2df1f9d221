/// The memory that kernels may touch, as the checker knows it: buffers, shared
/// memory, variables of the library, each with what was done to every cell.
#ifndef JAXKERN_BACKENDS_CPU_CHECK_MEMORY_H_
#define JAXKERN_BACKENDS_CPU_CHECK_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backends/cpu/check_order.h"

namespace jaxkern {

/// What is known of a few bytes.
struct Cell {
  Record write, update;  ///< the last write, and the last atomic since
  Record reads[2];       ///< by two threads since the write
  uint32_t serial = 0;   ///< of the last block that touched it
  bool initialised = false;
};

struct Region {
  enum class Kind { kBuffer, kShared, kVariable };

  uintptr_t begin = 0;
  size_t bytes = 0;
  size_t margin = 0;  ///< around it, where nothing of others lies
  Kind kind = Kind::kBuffer;
  std::string name;             ///< "": an allocation that has none
  size_t element = 0;           ///< bytes; 0: unknown
  std::vector<size_t> extents;  ///< of a shared array, outermost first
  bool input = false;           ///< must not be written
  bool host = false;            ///< host code may touch it
  bool freed = false;
  bool initialised = false;  ///< as a whole
  uintptr_t allocated = 0;   ///< at which instruction
  uintptr_t block = 0;       ///< what was allocated, of which this is a part
  size_t block_bytes = 0;

  uintptr_t end() const { return begin + bytes; }
  bool Holds(uintptr_t address) const {
    return address - begin < bytes;  // unsigned
  }

  /// Cells that [address, address + n) lies in. None when the region is too
  /// large to be followed.
  Cell* First(uintptr_t address, size_t n, size_t* count);
  /// All cells forgotten: fresh memory.
  void Forget();
  void MarkInitialised(uintptr_t address, size_t n);

 private:
  void Refine(unsigned shift);

  unsigned shift_ = 2;  // a cell is 1 << shift_ bytes
  std::vector<Cell> cells_;
};

class CheckMemory {
 public:
  /// A buffer amid pages that nobody may touch; null when there is no memory.
  Region* Allocate(size_t bytes);
  /// Only these bytes of a buffer may be touched: the rest is a guard zone.
  void Narrow(Region* region, uintptr_t begin, size_t bytes);
  /// The buffer is kept unusable for a while. False: no such buffer.
  bool Free(uintptr_t address);
  /// Memory that exists already.
  Region* Add(uintptr_t begin, size_t bytes, Region::Kind kind);

  /// The region that holds the address; null if none.
  Region* Find(uintptr_t address);
  /// The region that the address was most likely meant for; null if none.
  Region* Near(uintptr_t address);
  /// Whether an array of these extents, "[8][9]", is a row, a plane, ... of a
  /// larger shared one.
  bool IsPartOfShared(const std::string& extents) const;

 private:
  std::map<uintptr_t, std::unique_ptr<Region>> regions_;  // by begin
  std::vector<Region*> freed_;                            // oldest first
  Region* last_ = nullptr;                                // found
};

}  // namespace jaxkern

#endif  // JAXKERN_BACKENDS_CPU_CHECK_MEMORY_H_

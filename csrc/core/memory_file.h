/// Anonymous memory that travels between processes as a descriptor.
#ifndef JAXKERN_CORE_MEMORY_FILE_H_
#define JAXKERN_CORE_MEMORY_FILE_H_

#include <cstddef>

#include "core/fd.h"

namespace jaxkern {

/// `bytes` zero bytes that the receiver may write but not resize, so that our
/// own mapping of them cannot be cut short. No descriptor on failure.
Fd MakeWritableMemory(size_t bytes);

/// A copy of `data` that nobody can change; may be loaded as code.
Fd MakeSealedMemory(const void* data, size_t bytes);

/// The same in steps: `bytes` zero bytes, what they are to be, and the seal.
/// Writing says when there is no memory, which a mapping does by a signal.
Fd MakeMemory(size_t bytes);
bool WriteMemory(const Fd& fd, size_t at, const void* data, size_t bytes);
void SealMemory(const Fd& fd);

/// A mapping with an owner; `data` is null when empty or when it failed.
struct Mapping {
  Mapping() = default;
  /// Writes reach the file if `writable`; else there must be none.
  Mapping(int fd, size_t bytes, bool writable);
  /// Zero bytes of this process alone.
  explicit Mapping(size_t bytes);
  ~Mapping();
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;

  char* data = nullptr;
  size_t bytes = 0;
};

}  // namespace jaxkern

#endif  // JAXKERN_CORE_MEMORY_FILE_H_

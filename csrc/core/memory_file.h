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

/// A mapping with an owner; `data` is null when empty or when it failed.
struct Mapping {
  Mapping() = default;
  /// Writes reach the file if `writable`; else there must be none.
  Mapping(int fd, size_t bytes, bool writable);
  ~Mapping();
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;

  char* data = nullptr;
  size_t bytes = 0;
};

}  // namespace jaxkern

#endif  // JAXKERN_CORE_MEMORY_FILE_H_

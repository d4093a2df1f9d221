/// A candidate's compiled code.
#ifndef JAXKERN_WORKER_LIBRARY_H_
#define JAXKERN_WORKER_LIBRARY_H_

#include <string>

#include "backends/device.h"
#include "core/fd.h"

namespace jaxkern {

/// A library that is unloaded in the end.
class Library {
 public:
  explicit Library(Fd memory);
  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  /// Null, with error() saying why, if it cannot be loaded.
  Entry entry() const;
  const std::string& error() const { return error_; }

 private:
  Fd memory_;
  std::string path_;
  void* handle_;
  std::string error_;
};

}  // namespace jaxkern

#endif  // JAXKERN_WORKER_LIBRARY_H_

/// How many things a directory holds, /proc's included.
#ifndef JAXKERN_CORE_COUNT_ENTRIES_H_
#define JAXKERN_CORE_COUNT_ENTRIES_H_

#include <filesystem>
#include <system_error>

namespace jaxkern {

/// 0 for a directory that cannot be read.
inline int CountEntries(const char* directory) {
  int count = 0;
  std::error_code failed;
  for (const auto& entry :
       std::filesystem::directory_iterator(directory, failed)) {
    static_cast<void>(entry);
    ++count;
  }
  return count;
}

}  // namespace jaxkern

#endif  // JAXKERN_CORE_COUNT_ENTRIES_H_

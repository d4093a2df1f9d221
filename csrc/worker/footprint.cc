#include "worker/footprint.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace jaxkern {
namespace {

constexpr int64_t kDriverBytes = int64_t{64} << 20;

int CountEntries(const char* directory) {
  int count = 0;
  std::error_code failed;
  for (const auto& entry :
       std::filesystem::directory_iterator(directory, failed)) {
    static_cast<void>(entry);
    ++count;
  }
  return count;
}

}  // namespace

int CountThreads(const Device& device) {
  return CountEntries("/proc/self/task") - std::max(device.Threads(), 0);
}

Footprint TakeFootprint(Device* device) {
  return {CountThreads(*device), CountEntries("/proc/self/fd"),
          CountEntries("."), device->FreeBytes()};
}

bool IsClean(const Footprint& before, const Footprint& now) {
  return now.threads <= before.threads &&
         now.descriptors <= before.descriptors && now.files <= before.files &&
         now.free_bytes >= before.free_bytes - kDriverBytes;
}

}  // namespace jaxkern

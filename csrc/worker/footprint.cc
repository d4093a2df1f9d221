#include "worker/footprint.h"

#include "core/count_entries.h"

namespace jaxkern {
namespace {

constexpr int64_t kDriverBytes = int64_t{64} << 20;

}  // namespace

Footprint TakeFootprint(Device* device) {
  return {device->OtherThreads(), CountEntries("/proc/self/fd"),
          CountEntries("."), device->FreeBytes()};
}

void Shift(const Footprint& before, const Footprint& after, Footprint* clean) {
  clean->threads += after.threads - before.threads;
  clean->descriptors += after.descriptors - before.descriptors;
  clean->files += after.files - before.files;
  clean->free_bytes += after.free_bytes - before.free_bytes;
}

bool IsClean(const Footprint& before, const Footprint& now) {
  return now.threads <= before.threads &&
         now.descriptors <= before.descriptors && now.files <= before.files &&
         now.free_bytes >= before.free_bytes - kDriverBytes;
}

}  // namespace jaxkern

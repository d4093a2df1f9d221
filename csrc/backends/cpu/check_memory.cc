#include "backends/cpu/check_memory.h"

#include <sys/mman.h>

#include <algorithm>

namespace jaxkern {
namespace {

constexpr size_t kPage = 4096;
// Around a buffer: an index that is wrong by a few rows still tells whose it
// was.
constexpr size_t kGuard = size_t{16} << 20;
constexpr size_t kFreedKept = 16;
// Of a region: 100 MB. Larger ones are checked for bounds alone.
constexpr size_t kCells = size_t{1} << 20;
// Around static shared memory, where the neighbours are not ours.
constexpr size_t kNearShared = 1024;

size_t RoundUp(size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

}  // namespace

Cell* Region::First(uintptr_t address, size_t n, size_t* count) {
  *count = 0;
  const size_t offset = address - begin;
  // Neighbouring bytes may belong to different threads.
  unsigned shift = shift_;
  while (shift > 0 && (offset | n) & ((size_t{1} << shift) - 1)) --shift;
  if ((bytes >> shift) > kCells) {
    initialised = true;  // for all we know
    return nullptr;
  }
  if (cells_.empty()) cells_.resize((bytes + 3) >> shift_);
  if (shift != shift_) Refine(shift);
  *count = n >> shift_;
  return &cells_[offset >> shift_];
}

void Region::Refine(unsigned shift) {
  std::vector<Cell> finer(cells_.size() << (shift_ - shift));
  for (size_t i = 0; i < finer.size(); ++i) {
    finer[i] = cells_[i >> (shift_ - shift)];
  }
  cells_ = std::move(finer);
  shift_ = shift;
}

void Region::Forget() {
  cells_.clear();
  initialised = false;
}

void Region::MarkInitialised(uintptr_t address, size_t n) {
  if (initialised) return;
  if (address == begin && n == bytes) {
    initialised = true;
    return;
  }
  size_t count;
  Cell* cells = First(address, n, &count);
  for (size_t i = 0; i < count; ++i) cells[i].initialised = true;
}

Region* CheckMemory::Allocate(size_t bytes) {
  const size_t usable = RoundUp(bytes);
  char* base = static_cast<char*>(mmap(nullptr, usable + 2 * kGuard, PROT_NONE,
                                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  if (base == MAP_FAILED) return nullptr;
  char* start = base + kGuard;
  if (mprotect(start, usable, PROT_READ | PROT_WRITE) != 0) {
    munmap(base, usable + 2 * kGuard);
    return nullptr;
  }
  Region* region =
      Add(reinterpret_cast<uintptr_t>(start), bytes, Region::Kind::kBuffer);
  region->margin = kGuard;
  region->block = region->begin;
  region->block_bytes = usable;
  return region;
}

void CheckMemory::Narrow(Region* region, uintptr_t begin, size_t bytes) {
  auto node = regions_.extract(region->begin);
  region->margin +=
      std::max(begin - region->begin, region->end() - (begin + bytes));
  region->begin = node.key() = begin;
  region->bytes = bytes;
  region->Forget();
  regions_.insert(std::move(node));
  last_ = nullptr;
}

bool CheckMemory::Free(uintptr_t address) {
  const auto found = std::find_if(
      regions_.begin(), regions_.end(), [address](const auto& entry) {
        return entry.second->block == address && !entry.second->freed;
      });
  if (found == regions_.end()) return false;
  Region* region = found->second.get();
  region->freed = true;
  region->Forget();
  mprotect(reinterpret_cast<void*>(address), region->block_bytes, PROT_NONE);
  freed_.push_back(region);
  if (freed_.size() > kFreedKept) {
    const Region* oldest = freed_.front();
    munmap(reinterpret_cast<void*>(oldest->block - kGuard),
           oldest->block_bytes + 2 * kGuard);
    regions_.erase(oldest->begin);
    freed_.erase(freed_.begin());
    last_ = nullptr;
  }
  return true;
}

Region* CheckMemory::Add(uintptr_t begin, size_t bytes, Region::Kind kind) {
  auto& region = regions_[begin];
  region = std::make_unique<Region>();
  region->begin = begin;
  region->bytes = bytes;
  region->kind = kind;
  if (kind == Region::Kind::kShared) region->margin = kNearShared;
  last_ = nullptr;
  return region.get();
}

Region* CheckMemory::Find(uintptr_t address) {
  if (last_ != nullptr && last_->Holds(address)) return last_;
  auto next = regions_.upper_bound(address);
  if (next == regions_.begin()) return nullptr;
  Region* region = std::prev(next)->second.get();
  if (!region->Holds(address)) return nullptr;
  return last_ = region;
}

Region* CheckMemory::Near(uintptr_t address) {
  const auto next = regions_.upper_bound(address);
  Region* below =
      next == regions_.begin() ? nullptr : std::prev(next)->second.get();
  Region* above = next == regions_.end() ? nullptr : next->second.get();
  // Going past an end is by far the more common mistake.
  if (below && address - below->end() < below->margin) return below;
  return above && above->begin - address <= above->margin ? above : nullptr;
}

bool CheckMemory::IsPartOfShared(const std::string& extents) const {
  for (const auto& [begin, region] : regions_) {
    std::string whole;
    for (size_t extent : region->extents) {
      whole += "[" + std::to_string(extent) + "]";
    }
    if (whole.size() > extents.size() &&
        whole.substr(whole.size() - extents.size()) == extents) {
      return true;
    }
  }
  return false;
}

}  // namespace jaxkern

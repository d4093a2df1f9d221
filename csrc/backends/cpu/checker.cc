#include "backends/cpu/checker.h"

#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "backends/cpu/check_symbols.h"
#include "backends/cpu/runtime.h"

namespace jaxkern {
namespace {

constexpr size_t kHostStack = size_t{8} << 20;
constexpr size_t kPage = 4096;
constexpr uint32_t kLookEvery = 1 << 16;

/// threadIdx and its kind, which kernels read all the time.
bool IsIndex(uintptr_t address) {
  const auto in = [address](const void* variable, size_t bytes) {
    return address - uintptr_t(variable) < bytes;
  };
  return in(&threadIdx, sizeof threadIdx) || in(&blockIdx, sizeof blockIdx) ||
         in(&blockDim, sizeof blockDim) || in(&gridDim, sizeof gridDim) ||
         in(&jaxkern_row_end, sizeof jaxkern_row_end);
}

bool IsMapped(uintptr_t address) {
  void* page = reinterpret_cast<void*>(address / kPage * kPage);
  return msync(page, kPage, MS_ASYNC) == 0;
}

}  // namespace

Checker* Checker::active_ = nullptr;

void Checker::TurnOn(const void* inside) {
  // Never freed: candidates' exit handlers may still come by.
  if (active_ == nullptr) active_ = new Checker(inside);
}

Checker::Checker(const void* inside) {
  const LibraryVariables library = ReadVariables(inside);
  base_ = library.base;
  for (const Variable& variable : library.variables) {
    Region* region = memory_.Add(
        variable.address, variable.bytes,
        variable.shared ? Region::Kind::kShared : Region::Kind::kVariable);
    region->name = variable.name;
    region->host = region->initialised = !variable.shared;
  }
  if (const char* until = std::getenv(kCheckUntil)) {
    until_ns_ = std::atoll(until);
  }
  dynamic_ = memory_.Allocate(kSharedPerBlockOptIn);
  dynamic_->kind = Region::Kind::kShared;
  dynamic_->name = "dynamic shared memory";
}

unsigned Checker::Thread() const {
  return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}

void* Checker::Allocate(size_t bytes, bool host, const void* caller) {
  Region* region = memory_.Allocate(bytes);
  if (region == nullptr) return nullptr;
  // What host code does to it goes partly unseen.
  region->host = region->initialised = host;
  region->allocated = Pc(caller);
  return reinterpret_cast<void*>(region->begin);
}

void Checker::Argument(const void* buffer, const char* name, size_t element,
                       bool input) {
  Region* region = memory_.Find(uintptr_t(buffer));
  if (region == nullptr) return;
  region->name = name;
  region->element = element;
  region->input = input;
}

void Checker::Shape(const volatile void* array, size_t element,
                    const size_t* extents, int rank) {
  Region* region = memory_.Find(uintptr_t(array));
  if (region == nullptr || region->element != 0) return;
  region->element = element;
  region->extents.assign(extents, extents + rank);
}

void Checker::Expose(const void* pointer, size_t bytes) {
  Region* region = memory_.Find(uintptr_t(pointer));
  if (region != nullptr && region->block != 0) {
    memory_.Narrow(region, uintptr_t(pointer), bytes);
  }
}

void Checker::MarkInitialised(const void* pointer, size_t bytes) {
  Region* region = memory_.Find(uintptr_t(pointer));
  if (region != nullptr) region->MarkInitialised(uintptr_t(pointer), bytes);
}

void Checker::StartLaunch(size_t shared, const void* frame) {
  host_stack_ = uintptr_t(frame);
  dynamic_->bytes = shared;
  dynamic_->Forget();
  order_.StartLaunch();
}

bool Checker::IsOwnStack(uintptr_t address, const void* frame) const {
  return address - (uintptr_t(frame) - kPage) < kCheckedStackBytes + kPage ||
         address - host_stack_ < kHostStack;
}

void Checker::Access(const volatile void* address, size_t bytes, int how,
                     const void* caller, const void* frame) {
  Settle();
  Now now{uintptr_t(address), bytes, how, Pc(caller), 0};
  if (bytes == 0 || IsIndex(now.address)) return;
  if (!InKernel()) {
    const Region* region = memory_.Find(now.address);
    // A thread-local of host code looks like shared memory.
    const bool buffer = region && region->kind == Region::Kind::kBuffer;
    if (buffer && !region->host) {
      Find(Place(now.pc) + ": host code " + (now.write() ? "writes" : "reads") +
           " device memory: " + Name(*region, now.address, bytes));
    }
    return;
  }
  if (IsOwnStack(now.address, frame)) return;
  now.thread = Thread();
  if (until_ns_ != 0 && ++accesses_ % kLookEvery == 0) LookAtClock(now);
  Region* region = memory_.Find(now.address);
  if (region == nullptr) return Outside(now);
  Inside(region, now);
}

void Checker::LookAtClock(const Now& now) {
  const int64_t time = std::chrono::duration_cast<std::chrono::nanoseconds>(
                           std::chrono::steady_clock::now().time_since_epoch())
                           .count();
  if (time < until_ns_) return;
  const Region* region = memory_.Find(now.address);
  Find(Place(now.pc) + ": still running, at a " +
       (now.write() ? "write" : "read") + " of " +
       (region ? Name(*region, now.address, now.bytes) : "memory") + " by " +
       Who() + "; threads of a block run one after another here until they" +
       " meet a barrier");
}

void Checker::Outside(const Now& now) {
  const Region* region = memory_.Near(now.address);
  if (region != nullptr) return Find(OutOfBounds(*region, now));
  const char* verb = now.write() ? "write" : "read";
  if (now.address < (64 << 10)) {
    return Find(Place(now.pc) + ": " + verb + " through a null pointer by " +
                Who() + overflow_);
  }
  // Memory of others may be a constant of the library, or from the heap.
  if (now.address / kPage == others_page_) return;
  if (IsMapped(now.address)) {
    others_page_ = now.address / kPage;
    return;
  }
  Find(Place(now.pc) + ": " + verb + " far outside every buffer by " + Who() +
       overflow_);
}

void Checker::Inside(Region* region, const Now& now) {
  if (region->end() - now.address < now.bytes) {
    return Find(OutOfBounds(*region, now));
  }
  const auto name = [&] { return Name(*region, now.address, now.bytes); };
  if (region->freed) {
    return Find(Place(now.pc) + ": use of " + name() + " after cudaFree by " +
                Who());
  }
  if (!(now.how & JAXKERN_UNALIGNED) && now.address % now.bytes != 0) {
    return Find(Place(now.pc) + ": misaligned " + std::to_string(now.bytes) +
                "-byte " + (now.write() ? "write" : "read") + " of " + name() +
                ", whose address is not a multiple of " +
                std::to_string(now.bytes) + ", by " + Who());
  }
  if (now.write() && region->input) {
    return Find(Place(now.pc) + ": write to " + name() + ", an input, by " +
                Who());
  }
  const bool shared = region->kind == Region::Kind::kShared;
  Now seen = now;
  if ((now.how & JAXKERN_VOLATILE) && !shared) seen.how |= JAXKERN_ATOMIC;
  size_t count;
  Cell* cells = region->First(now.address, now.bytes, &count);
  for (size_t i = 0; i < count; ++i) {
    Touch(region, &cells[i], now.address + i * (now.bytes / count), seen);
  }
  if (seen.atomic()) order_.Synchronise(now.thread);
}

void Checker::Touch(Region* region, Cell* cell, uintptr_t address,
                    const Now& now) {
  const bool shared = region->kind == Region::Kind::kShared;
  // Of shared memory, the blocks before have left nothing.
  if (shared && cell->serial != order_.block()) *cell = Cell();
  cell->serial = order_.block();
  if (now.reads() && !cell->initialised && !region->initialised) {
    Suggest(kUninitialised,
            Place(now.pc) + ": read of " +
                Name(*region, address, std::min<size_t>(now.bytes, 4)) +
                ", which " + (shared ? "no thread of the block" : "nothing") +
                " has written yet, by " + Who());
  }
  if (!(now.how & JAXKERN_VOLATILE) || shared) {
    AgainstWrite(region, *cell, address, now);
    if (!now.atomic()) AgainstUpdate(region, *cell, address, now);
    if (now.write()) AgainstReads(region, *cell, address, now);
  }
  Remember(cell, now);
}

void Checker::AgainstWrite(Region* region, const Cell& cell, uintptr_t address,
                           const Now& now) {
  if (order_.Before(cell.write, now.thread)) return;
  const std::string race = Race(*region, address, cell.write, true, now);
  if (now.write() && !now.atomic()) {
    Suspect(now, race);
  } else {
    Find(race);
  }
}

void Checker::AgainstUpdate(Region* region, const Cell& cell, uintptr_t address,
                            const Now& now) {
  if (order_.Before(cell.update, now.thread)) return;
  const std::string race = Race(*region, address, cell.update, true, now);
  if (now.write()) {
    Suspect(now, race);
  } else if (region->kind == Region::Kind::kShared) {
    Suggest(kAtomicRace, race);  // a look before an atomic may be meant
  }
}

void Checker::AgainstReads(Region* region, const Cell& cell, uintptr_t address,
                           const Now& now) {
  for (const Record& read : cell.reads) {
    if (order_.Before(read, now.thread)) continue;
    const std::string race = Race(*region, address, read, false, now);
    if (!now.atomic()) {
      Suspect(now, race);
    } else if (region->kind == Region::Kind::kShared) {
      Suggest(kAtomicRace, race);
    }
    return;
  }
}

void Checker::Remember(Cell* cell, const Now& now) {
  const Record record = order_.Now(now.thread, now.pc, now.atomic());
  if (now.write()) cell->initialised = true;
  if (now.atomic()) {
    cell->update = record;
  } else if (now.write()) {
    cell->write = record;
    cell->update = cell->reads[0] = cell->reads[1] = Record();
  } else {
    // Two readers are enough: whoever writes conflicts with one of them.
    for (Record& read : cell->reads) {
      if (!order_.Before(read, now.thread)) continue;
      read = record;
      return;
    }
  }
}

void Checker::Suspect(const Now& now, const std::string& race) {
  if (pending_.bytes != 0) return;
  pending_.address = now.address;
  pending_.bytes = std::min(now.bytes, sizeof pending_.before);
  pending_.finding = race;
  std::memcpy(pending_.before, reinterpret_cast<void*>(now.address),
              pending_.bytes);
}

void Checker::SettlePending() {
  const size_t bytes = pending_.bytes;
  pending_.bytes = 0;
  if (std::memcmp(pending_.before, reinterpret_cast<void*>(pending_.address),
                  bytes) != 0) {
    Find(pending_.finding);
  }
}

void Checker::Find(const std::string& text) {
  pending_.bytes = 0;
  RaiseFault(kFindingMark + text);
}

void Checker::Suggest(Rank rank, const std::string& text) {
  if (rank <= rank_) return;
  rank_ = rank;
  hint_ = text;
}

std::string Checker::Hint() const {
  return hint_.empty() ? "" : kHintMark + hint_;
}

}  // namespace jaxkern

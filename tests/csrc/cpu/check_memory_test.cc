#include "backends/cpu/check_memory.h"

#include "check.h"

namespace {

using jaxkern::Cell;
using jaxkern::CheckMemory;
using jaxkern::Region;

TEST(ABufferIsFoundByEveryByteAndMissedByItsNeighbours) {
  CheckMemory memory;
  Region* region = memory.Allocate(100);
  CHECK(memory.Find(region->begin) == region);
  CHECK(memory.Find(region->begin + 99) == region);
  CHECK(memory.Find(region->begin + 100) == nullptr);
  CHECK(memory.Find(region->begin - 1) == nullptr);
}

TEST(WhatIsJustOutsideBelongsToTheNearestBuffer) {
  CheckMemory memory;
  Region* a = memory.Allocate(100);
  Region* b = memory.Allocate(100);
  CHECK(memory.Near(a->begin + 100) == a);
  CHECK(memory.Near(a->begin + (1 << 20)) == a);
  CHECK(memory.Near(b->begin - 4) == b);
  CHECK(memory.Near(16) == nullptr);
}

TEST(AGuardZoneIsNotPartOfTheBuffer) {
  CheckMemory memory;
  Region* region = memory.Allocate(300);
  const uintptr_t block = region->begin;
  memory.Narrow(region, block + 100, 50);
  CHECK(memory.Find(block + 99) == nullptr);
  CHECK(memory.Find(block + 100) == region);
  CHECK(memory.Find(block + 150) == nullptr);
  CHECK(memory.Near(block + 150) == region);
  CHECK(memory.Near(block + 99) == region);
  CHECK(!memory.Free(block + 100));
  CHECK(memory.Free(block));
}

TEST(FreedBuffersAreKnownForAWhile) {
  CheckMemory memory;
  const uintptr_t first = memory.Allocate(8)->begin;
  CHECK(memory.Free(first));
  CHECK(memory.Find(first)->freed);
  CHECK(!memory.Free(first));
  for (int i = 0; i < 10; ++i) CHECK(memory.Free(memory.Allocate(8)->begin));
  CHECK(memory.Find(first)->freed);
}

TEST(CellsBecomeAsFineAsTheAccesses) {
  CheckMemory memory;
  Region* region = memory.Allocate(64);
  size_t count;
  Cell* cells = region->First(region->begin + 8, 16, &count);
  CHECK_EQ(count, size_t{4});
  for (size_t i = 0; i < count; ++i) cells[i].initialised = true;
  cells = region->First(region->begin + 22, 2, &count);
  CHECK_EQ(count, size_t{1});
  CHECK(cells[0].initialised);
  CHECK(!cells[1].initialised);
  CHECK(!region->First(region->begin + 7, 1, &count)->initialised);
  CHECK(region->First(region->begin + 8, 1, &count)->initialised);
}

TEST(MemoryIsInitialisedInPartsOrAsAWhole) {
  CheckMemory memory;
  Region* region = memory.Allocate(64);
  size_t count;
  region->MarkInitialised(region->begin, 32);
  CHECK(!region->initialised);
  CHECK(region->First(region->begin + 28, 4, &count)->initialised);
  CHECK(!region->First(region->begin + 32, 4, &count)->initialised);
  region->MarkInitialised(region->begin, 64);
  CHECK(region->initialised);
}

}  // namespace

int main() { return jaxkern::testing::RunTests(); }

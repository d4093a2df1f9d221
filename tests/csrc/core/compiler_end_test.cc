// Why a compiler failed is read from what it says, and a candidate's text in
// its messages is not taken for that.
#include "core/compiler_end.h"

#include "check.h"

using jaxkern::IsLinkFailure;
using jaxkern::RanOutOfMemory;
using jaxkern::SaysStarved;

TEST(ADriverSaysThatNoProcessIsLeft) {
  CHECK(
      SaysStarved("c++: fatal error: cannot execute 'cc1plus': vfork: "
                  "Resource temporarily unavailable\n"));
  CHECK(SaysStarved("a line\nnvcc error: cannot fork\n"));
  CHECK(SaysStarved("sh: 0: Cannot fork\n"));
}

TEST(ACandidatesTextDoesNot) {
  CHECK(!SaysStarved(""));
  CHECK(
      !SaysStarved("kernel.cu:1:2: error: #error c++: vfork: Resource "
                   "temporarily unavailable\n"));
  CHECK(!SaysStarved("    1 | #error Resource temporarily unavailable\n"));
}

TEST(MemoryIsTheCompilersOwnOrAPartsOfIt) {
  CHECK(RanOutOfMemory("cc1plus: out of memory allocating 65536 bytes\n"));
  CHECK(RanOutOfMemory("virtual memory exhausted: Cannot allocate memory\n"));
  CHECK(
      RanOutOfMemory("g++: fatal error: Killed signal terminated program "
                     "cc1plus\n"));
  CHECK(RanOutOfMemory("terminate called after throwing 'std::bad_alloc'\n"));
  CHECK(!RanOutOfMemory("kernel.cu(3): error: expected a \";\"\n"));
}

TEST(WhatIsCompiledMayNotFitTogether) {
  CHECK(IsLinkFailure("kernel.o: undefined reference to `f(int)'\n"));
  CHECK(IsLinkFailure("collect2: error: ld returned 1 exit status\n"));
  CHECK(IsLinkFailure("ptxas fatal   : Unresolved extern function 'f'\n"));
  CHECK(IsLinkFailure("multiple definition of `launch'\n"));
  CHECK(!IsLinkFailure("kernel.cu(3): error: identifier \"f\" is undefined\n"));
}

int main() { return jaxkern::testing::RunTests(); }

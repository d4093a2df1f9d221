/// A reader under test: one function over bytes from anywhere. libFuzzer brings
/// the main, or main.cc, which feeds it files.
#ifndef JAXKERN_TESTS_FUZZ_TARGET_H_
#define JAXKERN_TESTS_FUZZ_TARGET_H_

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

/// A promise of the reader's that does not hold is a finding.
inline void Require(bool holds, const char* promise) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s\n", promise);
  std::abort();
}

#endif  // JAXKERN_TESTS_FUZZ_TARGET_H_

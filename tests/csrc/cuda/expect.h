/// Checks for the cuda tests. A test is a function; a failed check is printed
/// and makes the program's exit status 1.
#ifndef JAXKERN_TESTS_CUDA_EXPECT_H_
#define JAXKERN_TESTS_CUDA_EXPECT_H_

#include <iostream>
#include <sstream>
#include <string>

inline int failures = 0;

template <typename Got, typename Expected>
void ExpectEqual(const Got& got, const Expected& expected, const char* text,
                 const char* file, int line) {
  if (got == expected) return;
  ++failures;
  std::cerr << file << ":" << line << ": " << text << ": expected " << expected
            << ", got " << got << "\n";
}

inline void ExpectHas(const std::string& got, const std::string& part,
                      const char* file, int line) {
  if (got.find(part) != std::string::npos) return;
  ++failures;
  std::cerr << file << ":" << line << ": expected to find: " << part
            << "\nin: " << got << "\n";
}

#define EXPECT_EQ(got, expected) \
  ExpectEqual(got, expected, #got, __FILE__, __LINE__)
#define EXPECT_TRUE(got) ExpectEqual(bool(got), true, #got, __FILE__, __LINE__)
#define EXPECT_HAS(got, part) ExpectHas(got, part, __FILE__, __LINE__)

#endif  // JAXKERN_TESTS_CUDA_EXPECT_H_

/// What compute-sanitizer writes, read: its reports in the words of the cpu
/// device's checker.
#ifndef JAXKERN_CORE_SANITIZER_LOG_H_
#define JAXKERN_CORE_SANITIZER_LOG_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace jaxkern {

/// An array that a launch was given.
struct PlacedArray {
  int run = 0;        ///< counts the cases as they were run
  std::string label;  ///< of that case
  std::string name;
  uint64_t address = 0;
  size_t bytes = 0;
  size_t element = 1;  ///< bytes
};

/// The fault that a log of compute-sanitizer (2022 to 2026) tells of, in one
/// line; "" if it tells of none. `source` is the name of the candidate's file,
/// `arrays` are those of all cases that were run, in order.
std::string SanitizerFinding(const std::string& log, const std::string& source,
                             const std::vector<PlacedArray>& arrays);

}  // namespace jaxkern

#endif  // JAXKERN_CORE_SANITIZER_LOG_H_

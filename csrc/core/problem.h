/// Problem bundles (docs/bundle.md), read.
#ifndef JAXKERN_CORE_PROBLEM_H_
#define JAXKERN_CORE_PROBLEM_H_

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "core/compare.h"
#include "core/dtype.h"
#include "core/fd.h"
#include "core/memory_file.h"
#include "core/npy.h"

namespace jaxkern {

struct Argument {
  enum class Kind { kInput, kOutput, kAttribute };

  std::string name;
  Kind kind;
  Dtype dtype;
  std::vector<std::variant<int64_t, std::string>> shape;
};

using Attribute = std::variant<int64_t, float, bool>;

/// One array of one case: its place in the problem's block of inputs or of
/// expected outputs, at a multiple of 64 bytes.
struct Array {
  int argument;  ///< index into Problem::arguments
  Shape shape;
  size_t offset;
  size_t bytes;
};

/// Inputs and what they must give, each in the order of the arguments.
struct Variant {
  std::vector<Array> inputs, outputs;
};

/// Of all its arrays together.
inline size_t Bytes(const Variant& variant) {
  size_t bytes = 0;
  for (const auto* arrays : {&variant.inputs, &variant.outputs}) {
    for (const Array& array : *arrays) bytes += array.bytes;
  }
  return bytes;
}

/// One set of sizes and values, with its first variant and perhaps others of
/// the same shapes.
struct Case : Variant {
  std::string label;                  ///< "n=33, a=2.0, large offset"
  std::vector<Attribute> attributes;  ///< in the order of the arguments
  Tolerance tolerance;
  bool timed = false;
  std::vector<Variant> others;

  int variants() const { return static_cast<int>(others.size()) + 1; }
  const Variant& variant(int index) const {
    return index == 0 ? *this : others[static_cast<size_t>(index) - 1];
  }
};

/// A kernel of the bundle's that takes turns with candidates. It is trusted.
struct Baseline {
  std::string name;
  std::string source;                  ///< CUDA C++ text
  std::vector<std::string> libraries;  ///< that it calls, e.g. "cublas"
};

inline constexpr size_t kMostBaselines = 8;

struct Problem {
  std::string name;
  std::vector<Argument> arguments;
  std::vector<Case> cases;
  std::vector<Baseline> baselines;  ///< the first one is what speedup means
  /// Of work that the first launch does for all later ones: "free", not timed
  /// but told, or "refused".
  std::string preparation = "free";
  std::string hash;  ///< 16 hex digits over all that was read
  Mapping expected;  ///< the outputs of all cases, in this process alone
  Fd input_memory;   ///< the inputs of all cases, sealed
  Mapping inputs;    ///< the same, mapped here
};

/// Reads the bundle in `directory`. Throws std::invalid_argument with one line
/// that names the file, the field, what was expected and what was found.
std::shared_ptr<const Problem> ReadProblem(const std::string& directory);

/// The hash of the bundle in `directory`, as in Problem. Throws likewise.
std::string ProblemHash(const std::string& directory);

}  // namespace jaxkern

#endif  // JAXKERN_CORE_PROBLEM_H_

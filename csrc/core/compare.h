/// Got against expected, element by element, outside the candidate's process.
#ifndef JAXKERN_CORE_COMPARE_H_
#define JAXKERN_CORE_COMPARE_H_

#include <cstdint>
#include <string>

#include "core/dtype.h"
#include "core/npy.h"

namespace jaxkern {

struct Tolerance {
  double rtol = 0;
  double atol = 0;
};

/// Over all elements of one array.
struct Comparison {
  int64_t elements = 0;
  int64_t mismatches = 0;  ///< outside the tolerance, or of another kind
  int64_t nonfinite = 0;   ///< of these: computed NaN or Inf for a finite value
  int64_t untouched = 0;   ///< of these: still holding the poison
  double max_abs_error = 0;  ///< over the pairs of finite values
  double max_rel_error = 0;  ///< the same, where the expected value is not 0
  std::string first;  ///< "y[2, 3] = 1, expected 2" for the first mismatches
};

/// The byte that outputs of this type are filled with before a launch: NaN for
/// floating types, an unlikely number for others.
int PoisonByte(Dtype dtype);

/// Compares kinds (finite, NaN, which infinity) before values; floating values
/// match when |got - expected| <= atol + rtol |expected|, others when equal.
/// `name` is the array's, for `first`.
Comparison Compare(const std::string& name, Dtype dtype, const Shape& shape,
                   const char* got, const char* expected,
                   const Tolerance& tolerance);

}  // namespace jaxkern

#endif  // JAXKERN_CORE_COMPARE_H_

/// NumPy's .npy files, read.
#ifndef JAXKERN_CORE_NPY_H_
#define JAXKERN_CORE_NPY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "core/dtype.h"

namespace jaxkern {

using Shape = std::vector<int64_t>;

/// NumPy's notation: "()", "(3,)", "(3, 4)".
std::string ShapeString(const Shape& shape);

/// The product of the extents.
int64_t Elements(const Shape& shape);

/// The elements of the file at `path`, in C order. Throws
/// std::invalid_argument naming `path`, expected and got, when the file cannot
/// be read, is malformed, or holds another dtype or shape.
std::vector<char> ReadNpy(const std::string& path, Dtype dtype,
                          const Shape& shape);

}  // namespace jaxkern

#endif  // JAXKERN_CORE_NPY_H_

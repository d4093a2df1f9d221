/// NumPy's .npy files, read.
#ifndef JAXKERN_CORE_NPY_H_
#define JAXKERN_CORE_NPY_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/dtype.h"

namespace jaxkern {

using Shape = std::vector<int64_t>;

/// NumPy's notation: "()", "(3,)", "(3, 4)".
std::string ShapeString(const Shape& shape);

/// The product of the extents.
int64_t Elements(const Shape& shape);

/// A file whose header has been read.
struct NpyFile {
  std::string path;
  size_t start = 0;  ///< of the elements, which are in C order
  size_t bytes = 0;  ///< of all elements
};

/// Throws std::invalid_argument naming `path`, expected and got, when the file
/// cannot be read, is malformed, or holds another dtype or shape.
NpyFile OpenNpy(const std::string& path, Dtype dtype, const Shape& shape);

/// Takes a piece of a file, and where it lies among the elements.
using PieceTaker =
    std::function<void(size_t at, const char* piece, size_t bytes)>;

/// Hands out the elements, piece by piece: an array needs no second copy on its
/// way to its place. Throws likewise.
void ReadNpy(const NpyFile& file, const PieceTaker& take);

}  // namespace jaxkern

#endif  // JAXKERN_CORE_NPY_H_

/// Which headers the two halves of a divided candidate get.
#ifndef JAXKERN_BACKENDS_CUDA_SPLIT_HEADERS_H_
#define JAXKERN_BACKENDS_CUDA_SPLIT_HEADERS_H_

#include <string>

namespace jaxkern {

struct HeaderUse {
  bool known = false;                 ///< others cannot be divided
  bool device = false, host = false;  ///< which half includes it
};

/// `name` without <> or "".
HeaderUse UseOfHeader(const std::string& name);

}  // namespace jaxkern

#endif  // JAXKERN_BACKENDS_CUDA_SPLIT_HEADERS_H_

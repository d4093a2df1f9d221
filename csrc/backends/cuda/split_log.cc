#include "backends/cuda/split_log.h"

namespace jaxkern {

std::string Because(const std::string& what, const std::string& output) {
  const size_t error = output.find("error");
  if (error == std::string::npos) return what;
  const size_t begin = output.rfind('\n', error) + 1;
  return what + ": " + output.substr(begin, output.find('\n', error) - begin);
}

}  // namespace jaxkern

// What divides candidates for the cuda device loses no line in either half.
#include "backends/cuda/split.h"

#include <algorithm>

#include "target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string source(reinterpret_cast<const char*>(data), size);
  const jaxkern::Division division = jaxkern::Divide(source);
  if (!division.obstacle.empty()) return 0;
  for (const std::string& half : {division.device, division.host}) {
    Require(std::count(source.begin(), source.end(), '\n') ==
                std::count(half.begin(), half.end(), '\n'),
            "every line is kept");
  }
  return 0;
}

#include "core/compiler_end.h"

#include <initializer_list>
#include <sstream>

namespace jaxkern {
namespace {

bool HasAny(const std::string& text, std::initializer_list<const char*> parts) {
  for (const char* part : parts) {
    if (text.find(part) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

bool RanOutOfMemory(const std::string& output) {
  return HasAny(output, {"out of memory allocating", "virtual memory exhausted",
                         "Killed signal terminated", "std::bad_alloc"});
}

bool IsLinkFailure(const std::string& output) {
  return HasAny(output, {"ld returned", "undefined reference",
                         "multiple definition", "Unresolved extern function"});
}

bool SaysStarved(const std::string& output) {
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    if (HasAny(line, {"kernel.cu", "kernel.cc"})) continue;
    const bool ours = HasAny(line.substr(0, 12), {": ", "nvcc", "sh"});
    if (ours && HasAny(line, {"Resource temporarily unavailable", "annot fork",
                              "fork: Cannot allocate memory"})) {
      return true;
    }
  }
  return false;
}

}  // namespace jaxkern

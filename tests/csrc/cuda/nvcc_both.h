/// Builds by nvcc, and by its own steps side by side, and what they leave.
#ifndef JAXKERN_TESTS_CUDA_NVCC_BOTH_H_
#define JAXKERN_TESTS_CUDA_NVCC_BOTH_H_

#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "backends/cuda/cubin.h"
#include "backends/toolchain.h"
#include "check.h"
#include "workshop.h"

namespace jaxkern {
namespace testing {

struct Left {
  Ended ended;
  std::set<std::string> symbols;
  std::vector<std::string> device;  ///< what lies where the runtime looks
  double seconds = 0;
};

/// Symbols but the names of files between the steps.
inline void Look(const std::string& directory, Left* left) {
  std::ostringstream contents;
  contents << std::ifstream(directory + "/kernel.so", std::ios::binary).rdbuf();
  const std::string library = contents.str();
  for (const std::string& name :
       DefinedSymbols(library).value_or(std::set<std::string>())) {
    const bool file = name.size() > 4 && name.substr(name.size() - 4) == ".cpp";
    if (!file) left->symbols.insert(name);
  }
  left->device = SectionStrings(library, ".nv_fatbin");
}

/// In `directory`, which is emptied, within `timeout_s`.
template <typename Build>
Left BuildAnew(const Toolchain& toolchain, const std::string& source,
               const std::string& directory, double timeout_s,
               const Build& build) {
  std::filesystem::remove_all(directory);
  const TestWorkshop workshop(directory, timeout_s);
  std::ofstream(directory + "/" + toolchain.SourceName()) << source;
  const auto start = std::chrono::steady_clock::now();
  Left left;
  left.ended = build(workshop);
  left.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  Look(directory, &left);
  return left;
}

inline Left BuildByNvcc(const Toolchain& toolchain, const std::string& source,
                        const std::vector<std::string>& flags,
                        const std::string& directory, double timeout_s = 60) {
  return BuildAnew(toolchain, source, directory, timeout_s,
                   [&](const Workshop& workshop) {
                     auto argv = toolchain.Command(directory);
                     argv.insert(argv.end(), flags.begin(), flags.end());
                     return workshop.Run(argv, directory);
                   });
}

/// Fails where the steps are not known.
inline Left BuildInSteps(const Toolchain& toolchain, const std::string& source,
                         const std::vector<std::string>& flags,
                         const std::string& directory, double timeout_s = 60) {
  return BuildAnew(toolchain, source, directory, timeout_s,
                   [&](const Workshop& workshop) {
                     const auto ended = toolchain.RunSteps(flags, workshop);
                     CHECK(ended.has_value());
                     return ended.value_or(Ended());
                   });
}

}  // namespace testing
}  // namespace jaxkern

#endif  // JAXKERN_TESTS_CUDA_NVCC_BOTH_H_

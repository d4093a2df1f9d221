// Builds candidates on both roads and says of each, in one line of JSON, which
// road it took, why, and how long both need. Not a test by itself: it is what
// benchmarks/split_roads.py runs. Usage: cuda_split_corpus OUT FILE...
// OUT gets NAME/split/kernel.so and NAME/nvcc/kernel.so. Beside FILE may lie
// FILE.flags, with the unit's own flags a line each.
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "backends/toolchain.h"
#include "workshop.h"

namespace {

using Clock = std::chrono::steady_clock;
using jaxkern::testing::TestWorkshop;

double Since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::vector<std::string> FlagsOf(const std::string& file) {
  std::vector<std::string> flags;
  std::ifstream lines(file + ".flags");
  for (std::string line; std::getline(lines, line);) flags.push_back(line);
  return flags;
}

jaxkern::Ended BuildWithNvcc(const jaxkern::Toolchain& toolchain,
                             const std::string& text,
                             const std::vector<std::string>& flags,
                             const std::string& directory) {
  const TestWorkshop workshop(directory);
  std::ofstream(directory + "/" + toolchain.SourceName()) << text;
  std::vector<std::string> argv = toolchain.Command(directory);
  argv.insert(argv.end(), flags.begin(), flags.end());
  return workshop.Run(argv, directory);
}

nlohmann::json Show(const jaxkern::Resources& resources) {
  return {resources.registers, resources.shared_bytes, resources.spill_bytes};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const std::string out = std::filesystem::absolute(argv[1]);
  const auto toolchain = jaxkern::MakeCudaToolchain("");
  for (int i = 2; i < argc; ++i) {
    std::ostringstream source;
    source << std::ifstream(argv[i]).rdbuf();
    const std::string text = toolchain->Prepare(source.str(), "").text;
    const std::vector<std::string> flags = FlagsOf(argv[i]);
    const std::string place =
        out + "/" + std::filesystem::path(argv[i]).filename().string();
    nlohmann::json line = {{"file", argv[i]}};
    jaxkern::FastBuild fast;
    std::vector<double> seconds;
    for (int repeat = 0; repeat < 4; ++repeat) {
      const TestWorkshop workshop(place + "/split");
      const auto start = Clock::now();
      fast = toolchain->BuildFast(text, flags, workshop);
      seconds.push_back(Since(start));
      if (!fast.done) break;
    }
    const auto start = Clock::now();
    const auto ended = BuildWithNvcc(*toolchain, text, flags, place + "/nvcc");
    line["nvcc_s"] = Since(start);
    line["nvcc_ok"] = ended.exit_code == 0;
    line["nvcc"] = Show(toolchain->ParseResources(ended.output));
    line["split_s"] = seconds;
    line["road"] = fast.done ? "split" : "nvcc";
    line["reason"] = fast.reason;
    line["split"] = Show(toolchain->ParseResources(fast.ended.output));
    std::cout << line.dump() << std::endl;
  }
}

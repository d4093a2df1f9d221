// Builds candidates by nvcc and by its steps side by side, in turns, and says
// of each, in one line of JSON, how long both need and whether they leave the
// same. Not a test by itself: it is what benchmarks/nvcc_road.py runs. Usage:
// nvcc_corpus SCRATCH REPEATS FILE...
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>

#include "nvcc_both.h"

int main(int argc, char** argv) {
  using jaxkern::testing::BuildByNvcc;
  using jaxkern::testing::BuildInSteps;
  using jaxkern::testing::Left;
  if (argc < 4) return 2;
  const std::string directory =
      std::filesystem::absolute(argv[1]).string() + "/build";
  const auto toolchain = jaxkern::MakeCudaToolchain("");
  for (int i = 3; i < argc; ++i) {
    std::ostringstream source;
    source << std::ifstream(argv[i]).rdbuf();
    const std::string text = toolchain->Prepare(source.str(), "").text;
    Left nvcc, steps;
    std::vector<double> nvcc_s, steps_s;
    for (int repeat = 0; repeat < std::atoi(argv[2]); ++repeat) {
      nvcc = BuildByNvcc(*toolchain, text, {}, directory);
      steps = BuildInSteps(*toolchain, text, {}, directory);
      nvcc_s.push_back(nvcc.seconds);
      steps_s.push_back(steps.seconds);
    }
    const nlohmann::json line = {
        {"file", std::filesystem::path(argv[i]).filename().string()},
        {"built", nvcc.ended.exit_code == 0},
        {"same_verdict",
         (nvcc.ended.exit_code == 0) == (steps.ended.exit_code == 0)},
        {"same_device_code", nvcc.device == steps.device},
        {"same_symbols", nvcc.symbols == steps.symbols},
        {"nvcc_s", nvcc_s},
        {"steps_s", steps_s}};
    std::cout << line.dump() << std::endl;
  }
}

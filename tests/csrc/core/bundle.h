/// Writes .npy files and a small bundle, byte by byte.
#ifndef JAXKERN_TESTS_CORE_BUNDLE_H_
#define JAXKERN_TESTS_CORE_BUNDLE_H_

#include <sys/stat.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "check.h"

namespace jaxkern::testing {

/// A version 1.0 file with the header's dict as given.
template <typename T>
std::string Npy(const std::string& dict, const std::vector<T>& values) {
  std::string header = dict + "\n";
  std::string text("\x93NUMPY\x01\x00", 8);
  text += static_cast<char>(header.size() & 255);
  text += static_cast<char>(header.size() >> 8);
  text += header;
  text.append(reinterpret_cast<const char*>(values.data()),
              values.size() * sizeof(T));
  return text;
}

inline std::string FloatDict(const std::string& shape) {
  return "{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + ", }";
}

inline std::string FloatNpy(const std::vector<float>& values) {
  return Npy(FloatDict("(" + std::to_string(values.size()) + ",)"), values);
}

/// y = a * x in two cases, n = 2 and n = 3, a = 2; the second is timed.
inline nlohmann::json ScaleProblem() {
  return nlohmann::json::parse(R"({
    "format": 1, "name": "scale", "level": 1, "summary": "y = a * x",
    "arguments": [
      {"name": "x", "kind": "input", "dtype": "float32", "shape": ["n"]},
      {"name": "y", "kind": "output", "dtype": "float32", "shape": ["n"]},
      {"name": "n", "kind": "attribute", "dtype": "int64", "shape": []},
      {"name": "a", "kind": "attribute", "dtype": "float32", "shape": []}],
    "cases": [
      {"attributes": {"n": 2, "a": 2.0}, "rtol": 1e-5, "atol": 1e-6,
       "timed": false,
       "inputs": {"x": "case0.x.npy"}, "outputs": {"y": "case0.y.npy"}},
      {"attributes": {"n": 3, "a": 2.0}, "rtol": 1e-5, "atol": 1e-6,
       "timed": true,
       "inputs": {"x": "case1.x.npy"}, "outputs": {"y": "case1.y.npy"}}],
    "baseline": "baseline.cu"})");
}

inline constexpr char kScaleKernel[] =
    "extern \"C\" int launch(const float* x, float* y, long n, float a,\n"
    "                      cudaStream_t) {\n"
    "  for (long i = 0; i < n; ++i) y[i] = a * x[i];\n"
    "  return 0;\n"
    "}\n";

inline void WriteScaleBundle(const TemporaryDirectory& directory,
                             const nlohmann::json& problem = ScaleProblem()) {
  directory.Write("problem.json", problem.dump());
  directory.Write("baseline.cu", kScaleKernel);
  directory.Write("case0.x.npy", FloatNpy({1, -3}));
  directory.Write("case0.y.npy", FloatNpy({2, -6}));
  directory.Write("case1.x.npy", FloatNpy({0, 0.5, 7}));
  directory.Write("case1.y.npy", FloatNpy({0, 1, 14}));
}

/// The same with six variants of the timed case, scaled by 1 to 6.
inline void WriteScaleVariants(const TemporaryDirectory& directory) {
  nlohmann::json problem = ScaleProblem();
  problem["name"] = "scale with variants";
  for (int v = 2; v <= 6; ++v) {
    const std::string x = "case1.v" + std::to_string(v) + ".x.npy";
    const std::string y = "case1.v" + std::to_string(v) + ".y.npy";
    const float s = static_cast<float>(v);
    directory.Write(x, FloatNpy({-s, 0.5f * s, 7 * s}));
    directory.Write(y, FloatNpy({-2 * s, s, 14 * s}));
    problem["cases"][1]["variants"].push_back(
        {{"inputs", {{"x", x}}}, {"outputs", {{"y", y}}}});
  }
  WriteScaleBundle(directory, problem);
}

/// A source whose compiler waits for text that never comes. The fake toolchain
/// finds its header in the directory: a candidate may not name a path. Its text
/// is no other directory's, since what became of that may be in the cache.
inline std::string EndlessSource(const TemporaryDirectory& directory) {
  mkfifo((directory.path() + "/header").c_str(), 0600);
  setenv("JAXKERN_TEST_INCLUDE", directory.path().c_str(), 1);
  return "#include \"header\"  // of " + directory.path() + "\n";
}

}  // namespace jaxkern::testing

#endif  // JAXKERN_TESTS_CORE_BUNDLE_H_

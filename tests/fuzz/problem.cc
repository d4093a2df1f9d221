// A bundle is read or refused with one line. The input is problem.json and the
// files 0, 1, ..., one after the other, each ended by a line "====".
#include "core/problem.h"

#include <unistd.h>

#include <fstream>
#include <stdexcept>

#include "core/entry.h"
#include "target.h"

namespace {

constexpr char kEnd[] = "\n====\n";
constexpr int kFiles = 4;

/// In memory; removed when the process ends in an orderly way.
struct Directory {
  Directory() { Require(mkdtemp(path.data()) != nullptr, "a directory"); }
  ~Directory() {
    for (int i = 0; i <= kFiles; ++i) unlink(Path(i).c_str());
    rmdir(path.c_str());
  }
  std::string Path(int i) const {
    return path + (i == 0 ? "/problem.json" : "/" + std::to_string(i - 1));
  }

  std::string path = "/dev/shm/jaxkern-fuzz-XXXXXX";
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Directory directory;
  const std::string input(reinterpret_cast<const char*>(data), size);
  size_t at = 0;
  for (int i = 0; i <= kFiles; ++i) {
    const size_t end = std::min(input.find(kEnd, at), input.size());
    std::ofstream(directory.Path(i), std::ios::binary)
        << input.substr(at, end - at);
    at = std::min(end + sizeof kEnd - 1, input.size());
  }
  try {
    const auto problem = jaxkern::ReadProblem(directory.path);
    Require(!problem->cases.empty(), "a problem has cases");
    for (const jaxkern::Case& c : problem->cases) {
      for (const jaxkern::Array& array : c.outputs) {
        Require(array.offset + array.bytes <= problem->expected.bytes,
                "outputs lie in their block");
      }
      for (const jaxkern::Array& array : c.inputs) {
        Require(array.offset + array.bytes <= problem->inputs.bytes,
                "inputs lie in their block");
      }
    }
    jaxkern::EntryText(*problem);
  } catch (const std::invalid_argument& error) {
    const std::string line = error.what();
    Require(line.find(": expected ") != std::string::npos,
            "a refusal says what was expected");
  }
  return 0;
}

// A toolchain in 40 lines: candidates are plain C++ for the host compiler.
#include <cstdlib>
#include <memory>
#include <stdexcept>

#include "backends/toolchain.h"

namespace jaxkern {
namespace {

class FakeToolchain final : public Toolchain {
 public:
  std::string Describe() const override { return "fake compiler"; }
  std::string Fingerprint() const override { return "fake 1"; }
  std::string SourceName() const override { return "kernel.cc"; }

  Prepared Prepare(const std::string& source,
                   const std::string& entry) const override {
    Prepared prepared;
    prepared.supported = source.find("wmma") == std::string::npos;
    prepared.unsupported = "wmma";
    prepared.text =
        "typedef void* cudaStream_t;\n#line 1 \"kernel.cc\"\n" + source + entry;
    return prepared;
  }

  std::vector<std::string> Command(const std::string&) const override {
    // Where a test keeps a header: a candidate may not name its path.
    const char* include = std::getenv("JAXKERN_TEST_INCLUDE");
    return {"c++",       "-shared", "-fPIC",
            "-O0",       "-o",      "kernel.so",
            "kernel.cc", "-I",      include != nullptr ? include : "."};
  }

  Resources ParseResources(const std::string&) const override {
    Resources resources;
    resources.registers = 7;
    return resources;
  }
};

}  // namespace

std::unique_ptr<Toolchain> MakeCpuToolchain(const std::string& compiler) {
  if (!compiler.empty()) {
    throw std::invalid_argument("compiler: not found: " + compiler);
  }
  return std::make_unique<FakeToolchain>();
}

std::unique_ptr<Toolchain> MakeCudaToolchain(const std::string& compiler) {
  return MakeCpuToolchain(compiler);
}

std::unique_ptr<Toolchain> MakeCheckedToolchain(const std::string& compiler) {
  return MakeCpuToolchain(compiler);
}

}  // namespace jaxkern

// A toolchain in 60 lines: candidates are plain C++ for the host compiler. As
// "cuda" it builds what the other does not support.
#include <cstdlib>
#include <memory>
#include <stdexcept>

#include "backends/toolchain.h"

namespace jaxkern {
namespace {

class FakeToolchain final : public Toolchain {
 public:
  explicit FakeToolchain(bool wmma) : wmma_(wmma) {}

  std::string Describe() const override { return "fake compiler"; }
  std::string Fingerprint() const override { return "fake 1"; }
  std::string SourceName() const override { return "kernel.cc"; }

  Prepared Prepare(const std::string& source,
                   const std::string& entry) const override {
    Prepared prepared;
    prepared.supported = wmma_ || source.find("wmma") == std::string::npos;
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

  std::string Sanitizer() const override {
    const char* chosen = std::getenv("JAXKERN_TEST_SANITIZER");
    return chosen != nullptr ? chosen : "";
  }

  /// There is one library, which is a flag.
  Libraries FindLibraries(
      const std::vector<std::string>& names) const override {
    Libraries libraries;
    for (const std::string& name : names) {
      if (name != "fake") libraries.missing = "needs " + name + ": none";
    }
    libraries.flags = {"-DFAKE_LIBRARY=3"};
    if (const char* file = std::getenv("JAXKERN_FAKE_LIBRARY")) {
      libraries.files = {file};
    }
    return libraries;
  }

  /// One reading after the other, if a test wants some.
  std::optional<ClockReading> ReadClocks(
      const std::string& device) const override {
    static int readings = 0;
    if (std::getenv("JAXKERN_FAKE_CLOCKS") == nullptr) return std::nullopt;
    ++readings;
    return ClockReading{1000 + readings, static_cast<int>(device.size()), 40,
                        readings > 1};
  }

  Resources ParseResources(const std::string&) const override {
    Resources resources;
    resources.registers = 7;
    return resources;
  }

 private:
  const bool wmma_;
};

std::unique_ptr<Toolchain> Make(const std::string& compiler, bool wmma) {
  if (!compiler.empty()) {
    throw std::invalid_argument("compiler: not found: " + compiler);
  }
  return std::make_unique<FakeToolchain>(wmma);
}

}  // namespace

std::unique_ptr<Toolchain> MakeCpuToolchain(const std::string& compiler) {
  return Make(compiler, /*wmma=*/false);
}

std::unique_ptr<Toolchain> MakeCudaToolchain(const std::string& compiler) {
  return Make(compiler, /*wmma=*/true);
}

std::unique_ptr<Toolchain> MakeLinesToolchain(const std::string& compiler) {
  return Make(compiler, /*wmma=*/true);
}

std::unique_ptr<Toolchain> MakeCheckedToolchain(const std::string& compiler) {
  return Make(compiler, /*wmma=*/false);
}

}  // namespace jaxkern

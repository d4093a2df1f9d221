#include "backends/toolchain.h"

#include <unistd.h>

#include <cstdlib>
#include <sstream>
#include <stdexcept>

#include "backends/cpu/features.h"
#include "backends/cpu/rewrite.h"
#include "core/cxx_library.h"
#include "core/native.h"
#include "core/sha256.h"
#include "core/subprocess.h"

namespace jaxkern {
namespace {

/// A program named by path or found on PATH; "" if there is none.
std::string FindProgram(const std::string& name) {
  if (name.find('/') != std::string::npos) {
    return access(name.c_str(), X_OK) == 0 ? name : "";
  }
  const char* path = std::getenv("PATH");
  std::istringstream places(path ? path : "");
  for (std::string place; std::getline(places, place, ':');) {
    const std::string candidate = place + "/" + name;
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return "";
}

struct Compiler {
  std::string path, found;
};

Compiler FindCompiler(const std::string& wanted) {
  if (!wanted.empty()) {
    const std::string path = FindProgram(wanted);
    if (!path.empty()) return {path, "as asked"};
    throw std::invalid_argument(
        "compiler: expected a C++ compiler, found no executable " + wanted);
  }
  const char* cxx = std::getenv("CXX");
  if (cxx && *cxx) {
    const std::string path = FindProgram(cxx);
    if (!path.empty()) return {path, "CXX"};
  }
  for (const char* name : {"g++", "clang++", "c++"}) {
    const std::string path = FindProgram(name);
    if (!path.empty()) return {path, "PATH"};
  }
  throw std::invalid_argument(
      "no C++ compiler for the cpu device: searched $CXX, and PATH for g++, "
      "clang++, c++");
}

class CpuToolchain final : public Toolchain {
 public:
  CpuToolchain(const std::string& compiler, bool checked)
      : checked_(checked),
        compiler_(FindCompiler(compiler)),
        include_(NativeDirectory() + "/include") {
    version_ = Probe({compiler_.path, "--version"});
    version_ = version_.substr(0, version_.find('\n'));
    if (version_.empty()) {
      throw std::invalid_argument("compiler: " + compiler_.path +
                                  " does not answer --version");
    }
    if (checked_ && version_.find("clang") != std::string::npos) {
      throw std::invalid_argument("compiler: the checker needs g++, found " +
                                  version_);
    }
    // What -march=native means here; a cache may be shared between hosts.
    target_ = Probe({compiler_.path, "-march=native", "-Q", "--help=target"});
    cxx_library_ = FindCxxLibrary(compiler_.path);
    headers_ = HashOfFiles(include_);
    fingerprint_ = version_ + target_ + cxx_library_ + headers_;
    for (const std::string& flag : Flags()) fingerprint_ += "\n" + flag;
  }

  std::string Describe() const override {
    return version_ + " (" + compiler_.path + ", " + compiler_.found + ")";
  }

  std::string Fingerprint() const override { return fingerprint_; }

  std::map<std::string, std::string> Parts() const override {
    std::string flags;
    for (const std::string& flag : Flags()) flags += flag + "\n";
    return {{"compiler", version_ + cxx_library_},
            {"architecture", target_},
            {"headers", headers_},
            {"flags", flags}};
  }

  bool KeepsLines() const override { return checked_; }

  std::string SourceName() const override { return "kernel.cu"; }

  Prepared Prepare(const std::string& source,
                   const std::string& entry) const override {
    Prepared prepared;
    prepared.unsupported = UnsupportedFeature(source);
    prepared.supported = prepared.unsupported.empty();
    // The candidate's last line may lack its end.
    if (prepared.supported) prepared.text = RewriteCuda(source) + "\n" + entry;
    return prepared;
  }

  std::vector<std::string> Command(const std::string&) const override {
    std::vector<std::string> argv = {compiler_.path};
    const std::vector<std::string> flags = Flags();
    argv.insert(argv.end(), flags.begin(), flags.end());
    argv.insert(argv.end(),
                {"-I" + include_, "-include", include_ + "/cuda_runtime.h",
                 "-x", "c++", SourceName(), "-o", "kernel.so", "-x", "none"});
    if (!cxx_library_.empty()) argv.push_back(cxx_library_);
    // Without the sanitizer's own library: its calls end in the worker.
    if (checked_) {
      argv.insert(argv.end(), {"-nodefaultlibs", "-lstdc++", "-lm", "-lgcc_s",
                               "-lgcc", "-lc"});
    }
    return argv;
  }

  Resources ParseResources(const std::string&) const override { return {}; }

 private:
  std::vector<std::string> Flags() const {
    std::vector<std::string> flags = {
        "-std=c++17", "-march=native", "-shared", "-fPIC",
        // As nvcc: multiply-adds are fused, errno is not set.
        "-ffp-contract=fast", "-fno-math-errno", "-Wl,-Bsymbolic", "-w",
        "-fmax-errors=10"};
    if (!checked_) {
      flags.push_back("-O2");
      return flags;
    }
    // Unoptimised: every access is made, and made where the source says.
    flags.insert(flags.end(),
                 {"-O0", "-g", "-DJAXKERN_CHECK", "-fsanitize=thread",
                  "-fsanitize=signed-integer-overflow,bounds",
                  "--param=tsan-distinguish-volatile=1"});
    return flags;
  }

  const bool checked_;
  Compiler compiler_;
  std::string include_, version_, target_, cxx_library_, headers_, fingerprint_;
};

}  // namespace

std::unique_ptr<Toolchain> MakeCpuToolchain(const std::string& compiler) {
  return std::make_unique<CpuToolchain>(compiler, /*checked=*/false);
}

std::unique_ptr<Toolchain> MakeCheckedToolchain(const std::string& compiler) {
  return std::make_unique<CpuToolchain>(compiler, /*checked=*/true);
}

}  // namespace jaxkern

#include "backends/toolchain.h"

#include <algorithm>
#include <cctype>
#include <sstream>
#include <stdexcept>

#include "backends/cuda/libraries.h"
#include "backends/cuda/nvcc.h"
#include "backends/cuda/nvcc_road.h"
#include "backends/cuda/nvml.h"
#include "backends/cuda/split_road.h"
#include "core/cxx_library.h"
#include "core/subprocess.h"

namespace jaxkern {
namespace {

class CudaToolchain final : public Toolchain {
 public:
  CudaToolchain(const std::string& compiler, bool lines)
      : nvcc_(FindNvcc(compiler)),
        sanitizer_(FindSanitizer(nvcc_)),
        architecture_(Architecture()),
        lines_(lines) {
    const std::string plain =
        "sm_" + architecture_.substr(0, architecture_.find('a'));
    const std::string known = Probe({nvcc_.path, "--list-gpu-code"});
    if (("\n" + known).find("\n" + plain + "\n") == std::string::npos) {
      throw std::invalid_argument(
          "compiler: expected an nvcc that knows the "
          "GPU's " +
          plain + ", got " + Describe());
    }
    // nvcc takes its host compiler from PATH.
    host_ = Probe({"g++", "-dumpfullversion", "-dumpmachine"});
    if (host_.empty()) {
      throw std::invalid_argument(
          "compiler: nvcc needs a host compiler, and there is no g++ on PATH");
    }
    cxx_library_ = FindCxxLibrary("g++");
    split_ = std::make_unique<SplitRoad>(nvcc_, architecture_, Linked());
  }

  std::string Describe() const override {
    return "nvcc " + nvcc_.version + " (" + nvcc_.path + ", " + nvcc_.found +
           "), sm_" + architecture_ + ", " + nvcc_.cudart +
           (split_ == nullptr || !split_->missing().empty() ? "" : ", NVRTC");
  }

  std::string Fingerprint() const override {
    std::string print = nvcc_.build + host_ + nvcc_.cudart;
    for (const std::string& flag : Flags()) print += "\n" + flag;
    if (!lines_) print += "\n" + split_->Fingerprint();
    return print;
  }

  std::map<std::string, std::string> Parts() const override {
    std::string flags;
    for (const std::string& flag : Flags()) flags += flag + "\n";
    return {{"compiler", nvcc_.build + host_},
            {"runtime", nvcc_.cudart},
            {"architecture", architecture_},
            {"flags", flags},
            {"split", lines_ ? "" : split_->Fingerprint()}};
  }

  bool KeepsLines() const override { return lines_; }

  std::string SourceName() const override { return "kernel.cu"; }

  Prepared Prepare(const std::string& source,
                   const std::string& entry) const override {
    Prepared prepared;
    // The candidate's last line may lack its end.
    prepared.text = source + "\n" + entry;
    return prepared;
  }

  std::vector<std::string> Command(const std::string&) const override {
    std::vector<std::string> argv = {nvcc_.path};
    const std::vector<std::string> flags = Flags();
    argv.insert(argv.end(), flags.begin(), flags.end());
    argv.insert(argv.end(), {"-o", "kernel.so", SourceName()});
    return argv;
  }

  /// Line numbers in kernels are nvcc's alone.
  FastBuild BuildFast(const std::string& text,
                      const std::vector<std::string>& flags,
                      const Workshop& workshop) const override {
    if (!lines_) return split_->Build(text, flags, workshop);
    FastBuild build;
    build.road = "nvcc";
    return build;
  }

  std::optional<Ended> RunSteps(const std::vector<std::string>& flags,
                                const Workshop& workshop) const override {
    std::vector<std::string> argv = Command(workshop.Directory());
    argv.insert(argv.end(), flags.begin(), flags.end());
    return road_->Run(argv, workshop);
  }

  std::vector<std::string> WorkerEnvironment() const override {
    std::string directories;
    for (const std::string& directory : CudaLibraryDirectories(nvcc_)) {
      directories += (directories.empty() ? "" : ":") + directory;
    }
    return {"JAXKERN_CUDART=" + nvcc_.cudart,
            "JAXKERN_LIBRARIES=" + directories};
  }

  Libraries FindLibraries(
      const std::vector<std::string>& names) const override {
    return FindCudaLibraries(nvcc_, names);
  }

  /// The PCI address is the last thing that a device says of itself.
  std::optional<ClockReading> ReadClocks(
      const std::string& device) const override {
    const size_t comma = device.rfind(", ");
    return comma == std::string::npos ? std::nullopt
                                      : ReadGpuClocks(device.substr(comma + 2));
  }

  std::string Sanitizer() const override { return sanitizer_; }

  Resources ParseResources(const std::string& output) const override;

 private:
  std::vector<std::string> Flags() const {
    std::vector<std::string> flags = {
        "-std=c++17",
        "-O3",
        "-gencode=arch=compute_" + architecture_ + ",code=sm_" + architecture_,
        // Host constexpr functions (std::max) and device lambdas in templates
        // work on the cpu device, so they work here.
        "--expt-relaxed-constexpr",
        "--extended-lambda",
        "-Xptxas=-v",
        "-shared",
        "-Xcompiler=-fPIC",
        // Intermediate files beside the source, where a killed nvcc's are
        // found and removed.
        "-objtemp",
        // A static runtime would give each candidate a copy of its own (and a
        // second of linking); this one is shared with the worker.
        "-cudart=none",
    };
    const std::vector<std::string> linked = Linked();
    flags.insert(flags.end(), linked.begin(), linked.end());
    if (lines_) flags.emplace_back("-lineinfo");
    return flags;
  }

  /// What candidates are linked with.
  std::vector<std::string> Linked() const {
    std::vector<std::string> flags;
    for (const std::string& library : {nvcc_.cudart, cxx_library_}) {
      if (library.empty()) continue;
      const size_t slash = library.rfind('/');
      flags.push_back("-L" + library.substr(0, slash));
      flags.push_back("-l:" + library.substr(slash + 1));
    }
    return flags;
  }

  Nvcc nvcc_;
  std::string sanitizer_;
  std::string architecture_;
  std::string host_, cxx_library_;
  const bool lines_;
  std::unique_ptr<SplitRoad> split_;
  const std::unique_ptr<NvccRoad> road_ = std::make_unique<NvccRoad>();
};

/// The number in `line` before `unit`, e.g. 42 for "Used 42 registers" and
/// " registers"; -1 if there is none.
int NumberBefore(const std::string& line, const std::string& unit) {
  const size_t end = line.find(unit);
  if (end == std::string::npos) return -1;
  size_t begin = end;
  while (begin > 0 && std::isdigit(line[begin - 1]) && end - begin < 9) {
    --begin;
  }
  return begin == end ? -1 : std::stoi(line.substr(begin, end - begin));
}

Resources CudaToolchain::ParseResources(const std::string& output) const {
  Resources most;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    const int registers = NumberBefore(line, " registers");
    if (registers >= 0 && line.find(": Used ") != std::string::npos) {
      most.registers = std::max(most.registers, registers);
      // ptxas is silent about shared memory that a kernel does not have.
      most.shared_bytes =
          std::max({most.shared_bytes, NumberBefore(line, " bytes smem"), 0});
    }
    const int stores = NumberBefore(line, " bytes spill stores");
    const int loads = NumberBefore(line, " bytes spill loads");
    if (stores >= 0 && loads >= 0) {
      most.spill_bytes = std::max(most.spill_bytes, stores + loads);
    }
  }
  return most;
}

}  // namespace

std::unique_ptr<Toolchain> MakeCudaToolchain(const std::string& compiler) {
  return std::make_unique<CudaToolchain>(compiler, /*lines=*/false);
}

std::unique_ptr<Toolchain> MakeLinesToolchain(const std::string& compiler) {
  return std::make_unique<CudaToolchain>(compiler, /*lines=*/true);
}

}  // namespace jaxkern

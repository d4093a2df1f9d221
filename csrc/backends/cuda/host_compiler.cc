#include "backends/cuda/host_compiler.h"

#include <fstream>
#include <sstream>
#include <utility>

#include "backends/cuda/split_log.h"

namespace jaxkern {
namespace {

bool StartsWith(const std::string& text, const std::string& start) {
  return text.rfind(start, 0) == 0;
}

}  // namespace

UnitFlags ReadUnitFlags(const std::vector<std::string>& flags,
                        const std::string& torch) {
  UnitFlags unit;
  for (size_t i = 0; i < flags.size(); ++i) {
    if (flags[i] == "-I" + torch) {
      unit.torch = true;
    } else if (flags[i] == "-include" && i + 1 < flags.size()) {
      unit.headers.push_back(flags[++i]);
    } else if (flags[i] == "-DJAXKERN_TORCH_HALF") {
      unit.half = true;
    } else if (!StartsWith(flags[i], "-DJAXKERN_TORCH_")) {
      unit.obstacle = "it is linked with libraries";
    }
  }
  if (!unit.torch && !flags.empty() && unit.obstacle.empty()) {
    unit.obstacle = "flags of its own";
  }
  return unit;
}

HostCompiler::HostCompiler(std::string path, std::string headers,
                           std::vector<std::string> includes, std::string torch,
                           std::vector<std::string> libraries)
    : path_(std::move(path)),
      headers_(std::move(headers)),
      torch_(std::move(torch)),
      includes_(std::move(includes)),
      libraries_(std::move(libraries)) {}

std::string HostCompiler::NameOf(const UnitFlags& unit) {
  return unit.torch ? "jaxkern_split_torch.h" : "jaxkern_split.h";
}

std::string HostCompiler::KeyOf(const UnitFlags& unit) {
  return NameOf(unit) + (unit.half ? " half" : "");
}

std::vector<std::string> HostCompiler::Flags() const {
  std::vector<std::string> flags = {"-std=c++17",
                                    "-O1",
                                    "-fPIC",
                                    "-w",
                                    "-fno-gnu-unique",
                                    "-fmax-errors=1",
                                    "-fno-diagnostics-show-caret",
                                    "-I" + headers_};
  for (const std::string& directory : includes_) {
    flags.insert(flags.end(), {"-isystem", directory});
  }
  return flags;
}

/// The precompiled header's directory comes first: a header of the same name
/// that is found before it would be parsed.
std::vector<std::string> HostCompiler::Argv(const UnitFlags& unit) const {
  std::vector<std::string> argv = {path_};
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto made = made_.find(KeyOf(unit));
    if (made != made_.end()) argv.push_back("-I" + made->second.directory);
  }
  for (const std::string& flag : Flags()) argv.push_back(flag);
  if (unit.torch) argv.push_back("-I" + torch_);
  if (unit.half) argv.push_back("-DJAXKERN_TORCH_HALF");
  return argv;
}

bool HostCompiler::Prepare(const UnitFlags& unit, const Workshop& workshop,
                           std::string* reason) {
  const std::string name = NameOf(unit);
  std::vector<std::string> argv = Argv(unit);
  const std::lock_guard<std::mutex> lock(mutex_);
  Header& header = made_[KeyOf(unit)];
  *reason = header.broken;
  if (!header.broken.empty() || !header.directory.empty()) {
    return header.broken.empty();
  }
  const std::string directory = workshop.KeptDirectory();
  *reason = "no scratch directory";
  if (directory.empty()) return false;
  // The name that is looked for beside the .gch.
  std::ofstream(directory + "/" + name) << "#include_next <" << name << ">\n";
  argv.insert(argv.end(),
              {"-x", "c++-header", headers_ + "/" + name, "-o", name + ".gch"});
  const Ended ended = workshop.Run(argv, directory);
  if (ended.exit_code == 0) {
    header.directory = directory;
    return true;
  }
  *reason = Because("the host's header does not compile", ended.output);
  // Who was in a hurry says nothing about the next one.
  const bool late = ended.timed_out || ended.cancelled || ended.starved;
  if (!late) header.broken = *reason;
  return false;
}

void HostCompiler::AddLinking(std::vector<std::string>* argv) const {
  argv->insert(argv->end(), {"-x", "none", "-shared", "-fno-use-linker-plugin",
                             "-Wl,-z,start-stop-visibility=hidden",
                             "-Wl,--no-undefined", "-o", "kernel.so"});
  argv->insert(argv->end(), libraries_.begin(), libraries_.end());
}

Ended HostCompiler::Compile(const UnitFlags& unit, bool links,
                            const Workshop& workshop) const {
  if (links) return Link(unit, /*compiled=*/false, {}, workshop);
  std::vector<std::string> argv = Argv(unit);
  argv.insert(argv.end(), {"-include", NameOf(unit)});
  for (const std::string& header : unit.headers) {
    argv.insert(argv.end(), {"-include", header});
  }
  argv.insert(argv.end(), {"-x", "c++", "-c", "kernel.cu", "-o", "kernel.o"});
  return workshop.Run(argv, workshop.Directory());
}

Ended HostCompiler::Link(const UnitFlags& unit, bool compiled,
                         const std::vector<std::string>& more,
                         const Workshop& workshop) const {
  std::vector<std::string> argv = {path_};
  if (compiled) {
    argv.push_back("kernel.o");
  } else {
    argv = Argv(unit);
    argv.insert(argv.end(), {"-include", NameOf(unit)});
    for (const std::string& header : unit.headers) {
      argv.insert(argv.end(), {"-include", header});
    }
    argv.insert(argv.end(), {"-x", "c++", "kernel.cu"});
  }
  argv.insert(argv.end(), {"-x", "none"});
  argv.insert(argv.end(), more.begin(), more.end());
  AddLinking(&argv);
  return workshop.Run(argv, workshop.Directory());
}

std::string HostCompiler::HeadersText(const UnitFlags& unit,
                                      const std::string& includes,
                                      const Workshop& workshop) const {
  const std::string place = workshop.Directory() + "/headers";
  std::ofstream(place + ".cu") << includes;
  std::vector<std::string> argv = Argv(unit);
  // The plain text, and of CUDA's headers what nvcc reads of them.
  argv.insert(argv.end(), {"-D__CUDACC__", "-D__NVCC__", "-include",
                           "cuda_runtime.h", "-include", NameOf(unit)});
  for (const std::string& header : unit.headers) {
    argv.insert(argv.end(), {"-include", header});
  }
  argv.insert(argv.end(), {"-x", "c++", "-E", "-dD", "-P", "headers.cu", "-o",
                           "headers.ii"});
  const Ended ended = workshop.Run(argv, workshop.Directory());
  if (ended.exit_code != 0) return "";
  std::ostringstream text;
  text << std::ifstream(place + ".ii", std::ios::binary).rdbuf();
  return text.str();
}

}  // namespace jaxkern

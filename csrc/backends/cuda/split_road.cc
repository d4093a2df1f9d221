#include "backends/cuda/split_road.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "backends/cuda/cubin.h"
#include "backends/cuda/search.h"
#include "core/native.h"
#include "core/sandbox.h"
#include "core/sha256.h"

namespace jaxkern {
namespace {

constexpr char kHeader[] = "jaxkern_split.h";

std::string ReadFile(const std::string& path) {
  std::ostringstream contents;
  contents << std::ifstream(path, std::ios::binary).rdbuf();
  return contents.str();
}

bool WriteFile(const std::string& path, const std::string& contents) {
  std::ofstream file(path, std::ios::binary);
  return static_cast<bool>(file << contents << std::flush);
}

/// The directory with the libnvrtc that belongs to this nvcc; "" if none has.
std::string FindNvrtc(const Nvcc& nvcc) {
  const std::string release =
      nvcc.version.substr(0, nvcc.version.rfind('.'));  // "13.0"
  std::vector<std::string> places = {
      nvcc.top + "/lib64", nvcc.top + "/lib", nvcc.top + "/targets/*/lib",
      nvcc.cudart.substr(0, nvcc.cudart.rfind('/'))};
  for (const std::string& site : SitePackages()) {
    places.push_back(site + "/nvidia/cu" + nvcc.major + "/lib");
    places.push_back(site + "/nvidia/cuda_nvrtc/lib");
  }
  for (const std::string& place : places) {
    for (const std::string& match :
         Glob(place + "/libnvrtc-builtins.so." + release)) {
      const std::string directory = match.substr(0, match.rfind('/'));
      if (!Glob(directory + "/libnvrtc.so." + nvcc.major).empty()) {
        return Absolute(directory);
      }
    }
  }
  return "";
}

/// nvcc's own directories of headers.
std::vector<std::string> FindIncludes(const Nvcc& nvcc) {
  std::vector<std::string> found;
  for (const std::string pattern : {"/include", "/targets/*/include"}) {
    for (const std::string& match :
         Glob(nvcc.top + pattern + "/cuda_runtime.h")) {
      const std::string directory = Absolute(match.substr(0, match.rfind('/')));
      found = {directory};
      if (!Glob(directory + "/cccl/cuda").empty()) {
        found.push_back(directory + "/cccl");
      }
      return found;
    }
  }
  return found;
}

FastBuild Refuse(const std::string& reason) {
  FastBuild build;
  build.road = "nvcc";
  build.reason = reason;
  return build;
}

FastBuild Done(Ended ended) {
  FastBuild build;
  build.done = true;
  build.ended = std::move(ended);
  build.road = "split";
  return build;
}

/// "what: the first error in a compiler's output".
std::string Because(const std::string& what, const std::string& output) {
  const size_t error = output.find("error");
  if (error == std::string::npos) return what;
  const size_t begin = output.rfind('\n', error) + 1;
  return what + ": " + output.substr(begin, output.find('\n', error) - begin);
}

std::string Assembler() {
  return ".section .nv_fatbin,\"a\",@progbits\n"
         ".balign 8\n"
         ".globl jaxkern_split_fatbin\n"
         ".hidden jaxkern_split_fatbin\n"
         "jaxkern_split_fatbin:\n"
         ".incbin \"kernel.fatbin\"\n"
         ".section .note.GNU-stack,\"\",@progbits\n";
}

}  // namespace

SplitRoad::SplitRoad(const Nvcc& nvcc, const std::string& architecture,
                     const std::vector<std::string>& libraries)
    : nvcc_(nvcc), architecture_(architecture), libraries_(libraries) {
  host_ = OnPath("g++");
  nvrtc_ = FindNvrtc(nvcc);
  includes_ = FindIncludes(nvcc);
  headers_ = NativeDirectory() + "/include_split";
  const std::string program = NativeDirectory() + "/bin/jaxkern-nvrtc";
  if (IsLeftOut("split")) {
    missing_ = "JAXKERN_WITHOUT";
  } else if (nvrtc_.empty()) {
    missing_ = "there is no NVRTC " + nvcc.version + " beside nvcc";
  } else if (includes_.empty() || host_.empty() || !IsExecutable(program)) {
    missing_ = "headers, g++ or jaxkern-nvrtc are missing";
  } else {
    std::vector<std::string> arguments = {nvrtc_, headers_};
    arguments.insert(arguments.end(), includes_.begin(), includes_.end());
    pool_ = std::make_unique<NvrtcPool>(program, arguments);
  }
}

std::string SplitRoad::Fingerprint() const {
  if (!missing_.empty()) return "no split";
  std::string print = "split " + nvrtc_ + HashOfFiles(headers_);
  for (const std::string& library : Glob(nvrtc_ + "/libnvrtc*.so.*")) {
    print += " " + std::to_string(std::filesystem::file_size(library));
  }
  for (const std::string& option : Request("").options) print += "\n" + option;
  for (const std::string& flag : HostFlags()) print += "\n" + flag;
  return print;
}

std::vector<std::string> SplitRoad::HostFlags() const {
  std::vector<std::string> flags = {
      "-std=c++17",     "-O1",
      "-fPIC",          "-w",
      "-fmax-errors=1", "-I" + headers_ + "/host"};
  for (const std::string& directory : includes_) {
    flags.insert(flags.end(), {"-isystem", directory});
  }
  return flags;
}

NvrtcRequest SplitRoad::Request(const std::string& text) const {
  NvrtcRequest request;
  request.text = text;
  request.options = {"--gpu-architecture=sm_" + architecture_,
                     "-std=c++17",
                     "-Xptxas=-v",
                     "-w",
                     "-I" + headers_ + "/device",
                     "--pre-include=jaxkern_device.h"};
  for (const std::string& directory : includes_) {
    request.options.push_back("-I" + directory);
  }
  return request;
}

bool SplitRoad::MakeHeader(const Workshop& workshop, std::string* reason) {
  precompiled_ = workshop.KeptDirectory();
  if (precompiled_.empty() ||
      !WriteFile(precompiled_ + "/" + kHeader,
                 ReadFile(headers_ + "/host/" + kHeader))) {
    *reason = "no scratch directory";
    return false;
  }
  std::vector<std::string> argv = {host_};
  for (const std::string& flag : HostFlags()) argv.push_back(flag);
  argv.insert(argv.end(), {"-x", "c++-header", kHeader, "-o",
                           std::string(kHeader) + ".gch"});
  const Ended ended = workshop.Run(argv, precompiled_);
  *reason = Because("the host's header does not compile", ended.output);
  return ended.exit_code == 0;
}

/// What nvcc's own tool makes of a cubin is the measure.
bool SplitRoad::TryContainer(const Workshop& workshop, std::string* reason) {
  NvrtcPool::Compilation compilation =
      pool_->Start(Request("__global__ void jaxkern_trial() {}\n"), workshop);
  const auto reply = compilation.Wait(workshop);
  *reason = "NVRTC does not answer";
  if (!reply) return false;
  *reason = Because("NVRTC does not work", reply->log);
  if (!reply->ok) return false;
  WriteFile(precompiled_ + "/trial.cubin", reply->cubin);
  const std::string tool =
      nvcc_.path.substr(0, nvcc_.path.rfind('/')) + "/fatbinary";
  const Ended ended = workshop.Run(
      {IsExecutable(tool) ? tool : nvcc_.top + "/bin/fatbinary",
       "--create=trial.fatbin", "-64",
       "--image3=kind=elf,sm=" + architecture_ + ",file=trial.cubin"},
      precompiled_);
  *reason = "fatbinary makes another container";
  return ended.exit_code == 0 && ReadFile(precompiled_ + "/trial.fatbin") ==
                                     FatBinary(reply->cubin, architecture_);
}

bool SplitRoad::Prepare(const Workshop& workshop, std::string* reason) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!prepared_ && broken_.empty()) {
    prepared_ = MakeHeader(workshop, reason) && TryContainer(workshop, reason);
    // Who was in a hurry says nothing about the next one.
    const bool late = std::chrono::steady_clock::now() >= workshop.Deadline();
    if (!prepared_ && !late) broken_ = *reason;
    return prepared_;
  }
  *reason = broken_;
  return prepared_;
}

FastBuild SplitRoad::Build(const std::string& text, const Workshop& workshop) {
  if (!missing_.empty()) return Refuse(missing_);
  const Division division = Divide(text);
  if (!division.obstacle.empty()) return Refuse(division.obstacle);
  std::string reason;
  if (!Prepare(workshop, &reason)) return Refuse(reason);
  return Compile(division, workshop);
}

FastBuild SplitRoad::Compile(const Division& division,
                             const Workshop& workshop) {
  const std::string& directory = workshop.Directory();
  NvrtcRequest request = Request(division.device);
  NvrtcPool::Compilation device;
  if (!division.templates) device = pool_->Start(request, workshop);
  WriteFile(directory + "/kernel.cu", division.host);
  std::vector<std::string> argv = {host_};
  for (const std::string& flag : HostFlags()) argv.push_back(flag);
  argv.insert(argv.end(), {"-I" + precompiled_, "-include", kHeader, "-x",
                           "c++", "-c", "kernel.cu", "-o", "kernel.o"});
  Ended host = workshop.Run(argv, directory);
  if (host.timed_out || host.cancelled) return Done(std::move(host));
  if (host.exit_code != 0) {
    return Refuse(Because("the host's half", host.output));
  }
  const std::vector<std::string> names =
      SectionStrings(ReadFile(directory + "/kernel.o"), "jaxkern_split_names");
  if (division.templates) {
    for (const std::string& name : names) {
      const std::string expression = NameExpression(name);
      if (!expression.empty()) request.names.push_back(expression);
    }
    device = pool_->Start(request, workshop);
  }
  const auto reply = device.Wait(workshop);
  if (!reply) {
    Ended ended;
    ended.timed_out = std::chrono::steady_clock::now() >= workshop.Deadline();
    if (ended.timed_out) return Done(std::move(ended));
    return Refuse("the compile worker died");
  }
  return Join(*reply, names, workshop);
}

FastBuild SplitRoad::Join(const NvrtcReply& reply,
                          const std::vector<std::string>& names,
                          const Workshop& workshop) const {
  if (!reply.ok) return Refuse(Because("the device's half", reply.log));
  const auto symbols = DefinedSymbols(reply.cubin);
  for (const std::string& name : names) {
    if (!symbols || symbols->count(name) == 0) {
      return Refuse("the device's half lacks " + name);
    }
  }
  const std::string& directory = workshop.Directory();
  WriteFile(directory + "/kernel.fatbin",
            FatBinary(reply.cubin, architecture_));
  WriteFile(directory + "/kernel.s", Assembler());
  std::vector<std::string> argv = {host_,
                                   "-shared",
                                   "-Wl,-z,start-stop-visibility=hidden",
                                   "-Wl,--no-undefined",
                                   "-o",
                                   "kernel.so",
                                   "kernel.o",
                                   "kernel.s"};
  argv.insert(argv.end(), libraries_.begin(), libraries_.end());
  Ended ended = workshop.Run(argv, directory);
  if (!ended.timed_out && !ended.cancelled && ended.exit_code != 0) {
    return Refuse(Because("the halves do not fit", ended.output));
  }
  ended.output = reply.log;  // with what the kernels use
  return Done(std::move(ended));
}

}  // namespace jaxkern

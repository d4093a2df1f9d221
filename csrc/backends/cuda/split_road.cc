#include "backends/cuda/split_road.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "backends/cuda/cubin.h"
#include "backends/cuda/search.h"
#include "backends/cuda/split_log.h"
#include "core/lexer.h"
#include "core/native.h"
#include "core/sandbox.h"
#include "core/sha256.h"

namespace jaxkern {
namespace {

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

std::vector<std::string> NameExpressions(
    const std::vector<std::string>& symbols) {
  std::vector<std::string> expressions;
  for (const std::string& symbol : symbols) {
    const std::string expression = NameExpression(symbol);
    if (!expression.empty()) expressions.push_back(expression);
  }
  return expressions;
}

/// With what the expressions mention and the device's half has not.
std::string DeviceHalf(const std::string& text, const Division& division,
                       const std::vector<std::string>& expressions) {
  std::set<std::string> words;
  for (const std::string& expression : expressions) {
    for (const Token& token : Lex(expression)) {
      if (token.kind != Token::Kind::kIdentifier) continue;
      if (division.left_out.count(token.text) != 0) words.insert(token.text);
    }
  }
  return words.empty() ? division.device : Divide(text, words).device;
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
    : nvcc_(nvcc), architecture_(architecture) {
  const std::string compiler = OnPath("g++");
  nvrtc_ = FindNvrtc(nvcc);
  includes_ = FindIncludes(nvcc);
  headers_ = NativeDirectory() + "/include_split";
  torch_ = NativeDirectory() + "/torch";
  const std::string program = NativeDirectory() + "/bin/jaxkern-nvrtc";
  if (IsLeftOut("split")) {
    missing_ = "JAXKERN_WITHOUT";
  } else if (nvrtc_.empty()) {
    missing_ = "there is no NVRTC " + nvcc.version + " beside nvcc";
  } else if (includes_.empty() || compiler.empty() || !IsExecutable(program)) {
    missing_ = "headers, g++ or jaxkern-nvrtc are missing";
  } else {
    std::vector<std::string> arguments = {nvrtc_, headers_, torch_};
    arguments.insert(arguments.end(), includes_.begin(), includes_.end());
    pool_ = std::make_unique<NvrtcPool>(program, arguments);
    host_ = std::make_unique<HostCompiler>(compiler, headers_ + "/host",
                                           includes_, torch_, libraries);
  }
}

std::string SplitRoad::Fingerprint() const {
  if (!missing_.empty()) return "no split";
  std::string print = "split " + nvrtc_ + HashOfFiles(headers_);
  for (const std::string& library : Glob(nvrtc_ + "/libnvrtc*.so.*")) {
    print += " " + std::to_string(std::filesystem::file_size(library));
  }
  for (const std::string& option : Request("", {}).options)
    print += "\n" + option;
  for (const std::string& flag : host_->Flags()) print += "\n" + flag;
  return print;
}

NvrtcRequest SplitRoad::Request(const std::string& text,
                                const UnitFlags& unit) const {
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
  if (unit.torch) request.options.push_back("-I" + torch_);
  if (unit.half) request.options.emplace_back("-DJAXKERN_TORCH_HALF");
  return request;
}

/// What nvcc's own tool makes of a cubin is the measure.
bool SplitRoad::TryContainer(const Workshop& workshop, std::string* reason) {
  const std::string directory = workshop.KeptDirectory();
  *reason = "no scratch directory";
  if (directory.empty()) return false;
  NvrtcPool::Compilation compilation = pool_->Start(
      Request("__global__ void jaxkern_trial() {}\n", {}), workshop);
  const auto reply = compilation.Wait(workshop);
  *reason = "NVRTC does not answer";
  if (!reply) return false;
  *reason = Because("NVRTC does not work", reply->log);
  if (!reply->ok) return false;
  WriteFile(directory + "/trial.cubin", reply->cubin);
  const std::string tool =
      nvcc_.path.substr(0, nvcc_.path.rfind('/')) + "/fatbinary";
  const Ended ended = workshop.Run(
      {IsExecutable(tool) ? tool : nvcc_.top + "/bin/fatbinary",
       "--create=trial.fatbin", "-64",
       "--image3=kind=elf,sm=" + architecture_ + ",file=trial.cubin"},
      directory);
  *reason = "fatbinary makes another container";
  return ended.exit_code == 0 && ReadFile(directory + "/trial.fatbin") ==
                                     FatBinary(reply->cubin, architecture_);
}

bool SplitRoad::Prepare(const Workshop& workshop, std::string* reason) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!prepared_ && broken_.empty()) {
    prepared_ = TryContainer(workshop, reason);
    // Who was in a hurry says nothing about the next one.
    const bool late = std::chrono::steady_clock::now() >= workshop.Deadline();
    if (!prepared_ && !late) broken_ = *reason;
    return prepared_;
  }
  *reason = broken_;
  return prepared_;
}

FastBuild SplitRoad::Build(const std::string& text,
                           const std::vector<std::string>& flags,
                           const Workshop& workshop) {
  if (!missing_.empty()) return Refuse(missing_);
  const UnitFlags unit = ReadUnitFlags(flags, torch_);
  if (!unit.obstacle.empty()) return Refuse(unit.obstacle);
  const Division division = Divide(text);
  if (!division.obstacle.empty()) return Refuse(division.obstacle);
  std::string reason;
  if (!Prepare(workshop, &reason) || !host_->Prepare(unit, workshop, &reason)) {
    return Refuse(reason);
  }
  return Compile(text, division, unit, workshop);
}

/// Which instances of templates there are, the host's object says; it is linked
/// while NVRTC works on them.
FastBuild SplitRoad::Compile(const std::string& text, const Division& division,
                             const UnitFlags& unit, const Workshop& workshop) {
  const std::string& directory = workshop.Directory();
  const bool first = division.templates;  // the host's half must come first
  NvrtcPool::Compilation device;
  if (!first) device = pool_->Start(Request(division.device, unit), workshop);
  WriteFile(directory + "/kernel.cu", division.host);
  Ended host = host_->Compile(unit, /*links=*/!first, workshop);
  if (host.timed_out || host.cancelled) return Done(std::move(host));
  if (host.exit_code != 0) {
    return Refuse(Because("the host's half", host.output));
  }
  const std::vector<std::string> names =
      SectionStrings(ReadFile(directory + (first ? "/kernel.o" : "/kernel.so")),
                     "jaxkern_split_names");
  if (first) {
    const std::vector<std::string> expressions = NameExpressions(names);
    // What only the instances' arguments mention, the device needs, too.
    NvrtcRequest request =
        Request(DeviceHalf(text, division, expressions), unit);
    request.names = expressions;
    device = pool_->Start(request, workshop);
    host = host_->Link(unit, /*compiled=*/true, {}, workshop);
    if (host.timed_out || host.cancelled) return Done(std::move(host));
    if (host.exit_code != 0) {
      return Refuse(Because("the host's half", host.output));
    }
  }
  const auto reply = device.Wait(workshop);
  if (!reply) {
    Ended ended;
    ended.timed_out = std::chrono::steady_clock::now() >= workshop.Deadline();
    if (ended.timed_out) return Done(std::move(ended));
    return Refuse("the compile worker died");
  }
  if (!reply->ok && IsSure(*reply, text, division, unit, workshop)) {
    Ended ended;
    ended.exit_code = 1;
    ended.output = reply->log;
    return Done(std::move(ended));
  }
  return Join(*reply, names, unit, first, workshop);
}

/// Wrong syntax where the device's half is the candidate's text, or a name that
/// neither the rest of the text nor any header contains.
bool SplitRoad::IsSure(const NvrtcReply& reply, const std::string& text,
                       const Division& division, const UnitFlags& unit,
                       const Workshop& workshop) const {
  const std::vector<int> lines = SyntaxErrors(reply.log);
  if (!lines.empty()) {
    return std::all_of(lines.begin(), lines.end(), [&](int line) {
      return AgreeAt(line, text, division.device);
    });
  }
  const std::string name = UndefinedName(reply.log);
  if (name.empty() || HasWord(division.host, name)) return false;
  const std::string headers =
      host_->HeadersText(unit, division.includes, workshop);
  return !headers.empty() && !HasWord(headers, name);
}

FastBuild SplitRoad::Join(const NvrtcReply& reply,
                          const std::vector<std::string>& names,
                          const UnitFlags& unit, bool compiled,
                          const Workshop& workshop) const {
  if (!reply.ok) return Refuse(Because("the device's half", reply.log));
  const auto symbols = DefinedSymbols(reply.cubin);
  for (const std::string& name : names) {
    if (!symbols || symbols->count(name) == 0) {
      return Refuse("the device's half lacks " + name);
    }
  }
  const std::string library = workshop.Directory() + "/kernel.so";
  const std::string binary = FatBinary(reply.cubin, architecture_);
  std::string contents = ReadFile(library);
  Ended ended;
  ended.exit_code = 0;
  if (PutInSection(".nv_fatbin", binary, &contents)) {
    if (!WriteFile(library, contents)) return Refuse("no room for the library");
  } else {
    WriteFile(workshop.Directory() + "/kernel.fatbin", binary);
    WriteFile(workshop.Directory() + "/kernel.s", Assembler());
    ended = host_->Link(unit, compiled, {"kernel.s"}, workshop);
  }
  if (!ended.timed_out && !ended.cancelled && ended.exit_code != 0) {
    return Refuse(Because("the halves do not fit", ended.output));
  }
  ended.output = reply.log;  // with what the kernels use
  return Done(std::move(ended));
}

}  // namespace jaxkern

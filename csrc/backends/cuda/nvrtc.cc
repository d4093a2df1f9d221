#include "backends/cuda/nvrtc.h"

#include <dlfcn.h>
#include <glob.h>

#include <cstdio>
#include <vector>

#include "core/lexer.h"

namespace jaxkern {
namespace {

// A precompiled header takes some 10 MB of the worker's address space.
constexpr size_t kMostHeaders = 16;

void* OpenLibrary(const std::string& pattern) {
  glob_t matches{};
  void* library = nullptr;
  if (glob(pattern.c_str(), 0, nullptr, &matches) == 0) {
    library = dlopen(matches.gl_pathv[0], RTLD_NOW | RTLD_GLOBAL);
  }
  globfree(&matches);
  return library;
}

/// What of a text a precompiled header can hold: its beginning, up to the first
/// token that is not in a directive.
std::string Headers(const std::string& text) {
  std::string headers;
  for (const Token& token : Lex(text)) {
    if (token.kind == Token::Kind::kSpace) continue;
    if (!token.directive) break;
    headers += token.text + " ";
  }
  return headers;
}

using Program = void*;

template <typename... Arguments>
int Call(void* library, const char* name, Arguments... arguments) {
  const auto function =
      reinterpret_cast<int (*)(Arguments...)>(dlsym(library, name));
  return function == nullptr ? -1 : function(arguments...);
}

/// What the two functions for its size and itself give.
std::string Get(void* library, const std::string& name, Program program) {
  size_t bytes = 0;
  const std::string of_size = name + "Size";
  if (Call(library, of_size.c_str(), program, &bytes) != 0) return "";
  std::string text(bytes, '\0');
  return Call(library, name.c_str(), program, text.data()) == 0 ? text : "";
}

}  // namespace

Nvrtc::Nvrtc(const std::string& directory) {
  if (OpenLibrary(directory + "/libnvrtc-builtins.so.*") != nullptr) {
    library_ = OpenLibrary(directory + "/libnvrtc.so.*");
  }
  if (library_ == nullptr) {
    const char* message = dlerror();
    error_ = message != nullptr ? message : "no libnvrtc in " + directory;
  }
}

/// Making one costs a compilation, so that it must be known to come again.
bool Nvrtc::UsesPrecompiled(const NvrtcRequest& request) {
  std::string headers = Headers(request.text);
  for (const std::string& option : request.options) headers += "\n" + option;
  const bool full = seen_.size() >= kMostHeaders;
  if (full && seen_.count(headers) == 0) return false;
  return ++seen_[headers] >= 2;
}

NvrtcReply Nvrtc::Compile(const NvrtcRequest& request) {
  std::vector<std::string> options = request.options;
  if (UsesPrecompiled(request)) {
    options.insert(options.end(), {"-pch", "-pch-dir=."});
  }
  Program program = nullptr;
  int failed =
      Call(library_, "nvrtcCreateProgram", &program, request.text.c_str(),
           "kernel.cu", 0, static_cast<const char* const*>(nullptr),
           static_cast<const char* const*>(nullptr));
  for (const std::string& name : request.names) {
    if (failed != 0) break;
    failed = Call(library_, "nvrtcAddNameExpression", program, name.c_str());
  }
  std::vector<const char*> pointers;
  for (const std::string& option : options) pointers.push_back(option.c_str());
  if (failed == 0) {
    failed = Call(library_, "nvrtcCompileProgram", program,
                  static_cast<int>(pointers.size()), pointers.data());
  }
  NvrtcReply reply;
  reply.log = Get(library_, "nvrtcGetProgramLog", program);
  if (failed == 0) reply.cubin = Get(library_, "nvrtcGetCUBIN", program);
  reply.ok = !reply.cubin.empty();
  Call(library_, "nvrtcDestroyProgram", &program);
  return reply;
}

int NvrtcMain(const std::string& directory) {
  constexpr int kChannel = 3;
  Nvrtc nvrtc(directory);
  NvrtcRequest request;
  while (Receive(kChannel, &request)) {
    NvrtcReply reply;
    if (nvrtc.error().empty()) {
      reply = nvrtc.Compile(request);
    } else {
      reply.log = nvrtc.error();
    }
    if (!Send(kChannel, reply)) break;
  }
  return 0;
}

}  // namespace jaxkern

// The rules on names: functions that are the runtime's and not a candidate's,
// and libraries that would do the candidate's work.
#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <vector>

#include "core/rules.h"
#include "core/unit.h"

namespace jaxkern {
namespace {

using Kind = Token::Kind;

/// Functions of the CUDA runtime and driver that a candidate might replace.
const std::set<std::string>& RuntimeNames() {
  static const std::set<std::string> names = {"cudaEventCreate",
                                              "cudaEventCreateWithFlags",
                                              "cudaEventDestroy",
                                              "cudaEventElapsedTime",
                                              "cudaEventElapsedTime_v2",
                                              "cudaEventQuery",
                                              "cudaEventRecord",
                                              "cudaEventRecordWithFlags",
                                              "cudaEventSynchronize",
                                              "cudaDeviceReset",
                                              "cudaDeviceSynchronize",
                                              "cudaStreamCreate",
                                              "cudaStreamCreateWithFlags",
                                              "cudaStreamQuery",
                                              "cudaStreamSynchronize",
                                              "cudaStreamWaitEvent",
                                              "cudaGetLastError",
                                              "cudaPeekAtLastError",
                                              "cudaLaunchKernel",
                                              "cudaLaunchKernelExC",
                                              "cudaLaunchHostFunc",
                                              "cudaMalloc",
                                              "cudaMallocAsync",
                                              "cudaFree",
                                              "cudaFreeAsync",
                                              "cudaMemcpy",
                                              "cudaMemcpyAsync",
                                              "cudaMemset",
                                              "cudaMemsetAsync",
                                              "cudaGetDeviceProperties",
                                              "cudaDeviceGetAttribute",
                                              "cudaMemGetInfo",
                                              "cuEventRecord",
                                              "cuEventElapsedTime",
                                              "cuEventSynchronize",
                                              "cuLaunchKernel",
                                              "cuStreamSynchronize",
                                              "cuCtxSynchronize",
                                              "cuMemcpyDtoH",
                                              "cuGetProcAddress"};
  return names;
}

/// Functions of the C library; only with C linkage is it they who are meant.
const std::set<std::string>& LibraryNames() {
  static const std::set<std::string> names = {
      "clock",  "clock_getres", "clock_gettime", "clock_nanosleep",
      "dlopen", "dlsym",        "dlvsym",        "exit",
      "free",   "getrusage",    "gettimeofday",  "ioctl",
      "malloc", "memcmp",       "memcpy",        "memset",
      "mmap",   "mprotect",     "munmap",        "nanosleep",
      "read",   "syscall",      "time",          "timespec_get",
      "usleep", "write",        "_exit",         "sched_yield"};
  return names;
}

/// The evaluator's own.
constexpr std::array<const char*, 20> kOwn = {
    "jaxkern_torch",          "jaxkern_entry",          "jaxkern_cpu",
    "jaxkern_launch",         "jaxkern_next",           "jaxkern_row_end",
    "jaxkern_malloc",         "jaxkern_func_attribute", "jaxkern_trap",
    "jaxkern_syncthreads",    "jaxkern_dynamic_shared", "jaxkern_lane",
    "jaxkern_arguments",      "jaxkern_check_access",   "jaxkern_check_fence",
    "jaxkern_check_library",  "jaxkern_check_argument", "jaxkern_check_shape",
    "jaxkern_check_overflow", "jaxkern_check_index"};

bool Has(const std::vector<std::string>& head, const char* word) {
  return std::find(head.begin(), head.end(), word) != head.end();
}

/// Whether the name at `at`, followed by parameters, begins a definition.
/// Returns the index of its {, else kNone.
size_t DefinitionBody(const Unit& unit, size_t at) {
  if (unit.Text(at + 1) != "(") return Unit::kNone;
  size_t i = unit.Closing(at + 1);
  if (i == Unit::kNone) return Unit::kNone;
  // noexcept, throw(), attributes, a trailing return type.
  for (++i; i < unit.words().size(); ++i) {
    const std::string& text = unit.Text(i);
    if (text == "{") return i;
    if (text == "(") {
      i = unit.Closing(i);
      if (i == Unit::kNone) return Unit::kNone;
    } else if (text == ";" || text == ")" || text == "}" || text == "=" ||
               text == "," || text == "?") {
      return Unit::kNone;
    }
  }
  return Unit::kNone;
}

/// What encloses a definition.
struct Scope {
  bool file = true;  ///< nothing but namespaces and extern "C"
  bool named = false;
  bool c_linkage = false;
};

Scope ScopeOf(const Unit& unit, size_t at) {
  Scope scope;
  for (size_t block = unit.blocks()[at]; block != Unit::kNone;
       block = unit.blocks()[block]) {
    const std::vector<std::string> head = unit.Head(block);
    const bool is_namespace = Has(head, "namespace");
    const bool is_c = Has(head, "extern") && Has(head, "\"C\"");
    scope.named |= is_namespace;
    scope.c_linkage |= is_c;
    scope.file &= is_namespace || is_c;
  }
  return scope;
}

/// Whether the function defined at `at` replaces one of that name elsewhere.
bool Replaces(const Unit& unit, size_t at) {
  const std::string& name = unit.Text(at);
  const bool runtime = RuntimeNames().count(name) != 0;
  if (!runtime && LibraryNames().count(name) == 0) return false;
  const size_t body = DefinitionBody(unit, at);
  if (body == Unit::kNone) return false;
  Scope scope = ScopeOf(unit, at);
  const std::vector<std::string> head = unit.Head(body);
  scope.c_linkage |= Has(head, "extern") && Has(head, "\"C\"");
  if (!scope.file || Has(head, "static") || Has(head, "__device__") ||
      Has(head, "__global__") || unit.Text(at - 1) == ":") {
    return false;
  }
  return scope.c_linkage || (runtime && !scope.named && !Has(head, "template"));
}

/// steady_clock::now ( ... ) {
bool ReplacesClock(const Unit& unit, size_t at) {
  return unit.Text(at) == "now" && at >= 3 && unit.Text(at - 1) == ":" &&
         unit.Text(at - 2) == ":" &&
         unit.Text(at - 3).find("_clock") != std::string::npos &&
         unit.blocks()[at] == Unit::kNone &&
         DefinitionBody(unit, at) != Unit::kNone;
}

/// "cublasSgemm": a library's prefix and then a capital letter.
bool IsLibraryCall(const std::string& name) {
  for (const std::string prefix :
       {"cublas", "cublasLt", "cudnn", "cufft", "cusparse", "cusolver",
        "cutensor", "nccl"}) {
    if (name.rfind(prefix, 0) == 0 && name.size() > prefix.size() &&
        std::isupper(static_cast<unsigned char>(name[prefix.size()]))) {
      return true;
    }
  }
  return false;
}

constexpr std::array<const char*, 14> kThrust = {
    "sort",     "sort_by_key",    "reduce",           "reduce_by_key",
    "copy",     "transform",      "transform_reduce", "inclusive_scan",
    "fill",     "exclusive_scan", "inner_product",    "device_vector",
    "for_each", "gather"};

}  // namespace

std::optional<Breach> FindSymbolBreach(const Unit& unit) {
  const std::vector<Word>& words = unit.words();
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i].kind != Kind::kIdentifier) continue;
    const bool own =
        std::find(kOwn.begin(), kOwn.end(), words[i].text) != kOwn.end();
    if (own) {
      return Breach{"replaces_runtime", unit.Evidence(words[i]),
                    "`" + words[i].text + "` is the evaluator's own name"};
    }
    if (words[i].directive) continue;
    if (Replaces(unit, i) || ReplacesClock(unit, i)) {
      return Breach{"replaces_runtime", unit.Evidence(words[i]),
                    "`" + words[i].text + "` is not the candidate's to define"};
    }
  }
  return std::nullopt;
}

std::optional<Breach> FindLibraryBreach(const Unit& unit) {
  const std::vector<Word>& words = unit.words();
  for (size_t i = 0; i < words.size(); ++i) {
    // What is conditional may be dead; then the linker has the word.
    if (words[i].directive || words[i].conditional) continue;
    const bool scoped = unit.Text(i + 1) == ":" && unit.Text(i + 2) == ":";
    const std::string& member = unit.Text(i + 3);
    const bool call =
        (IsLibraryCall(words[i].text) && unit.Text(i + 1) == "(") ||
        (scoped && words[i].text == "cub" && member.rfind("Device", 0) == 0) ||
        (scoped && words[i].text == "thrust" &&
         std::find(kThrust.begin(), kThrust.end(), member) != kThrust.end());
    if (call) {
      return Breach{"calls_library", unit.Evidence(words[i]),
                    "the work is done by a library; a candidate brings its "
                    "own kernels"};
    }
  }
  return std::nullopt;
}

}  // namespace jaxkern

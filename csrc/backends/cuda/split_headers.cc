#include "backends/cuda/split_headers.h"

#include <algorithm>
#include <array>

namespace jaxkern {
namespace {

template <size_t N>
bool IsOneOf(const std::string& text, const std::array<const char*, N>& list) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

/// What both compilers have without asking.
constexpr std::array<const char*, 9> kPrelude = {
    "cuda_runtime.h", "cuda_runtime_api.h", "device_launch_parameters.h",
    "driver_types.h", "vector_types.h",     "vector_functions.h",
    "host_defines.h", "builtin_types.h",    "device_functions.h"};

/// CUDA's, for device code only; the host's half at most opens their
/// namespaces.
constexpr std::array<const char*, 10> kDevice = {
    "cuda_awbarrier_primitives.h",
    "cooperative_groups.h",
    "cooperative_groups/reduce.h",
    "cooperative_groups/scan.h",
    "cooperative_groups/memcpy_async.h",
    "cuda_pipeline.h",
    "cuda_pipeline_primitives.h",
    "cuda/pipeline",
    "cuda/barrier",
    "sm_30_intrinsics.h"};

constexpr std::array<const char*, 5> kBoth = {
    "mma.h", "cuda_fp16.h", "cuda_bf16.h", "cuda_fp8.h", "math_constants.h"};

/// C's and a few of C++'s, of which NVRTC gets our version
/// (include_split/device).
constexpr std::array<const char*, 24> kC = {
    "stdint.h",  "cstdint", "stddef.h", "cstddef",   "math.h",   "cmath",
    "float.h",   "cfloat",  "limits.h", "climits",   "stdio.h",  "cstdio",
    "assert.h",  "cassert", "string.h", "cstring",   "stdlib.h", "cstdlib",
    "stdbool.h", "time.h",  "ctime",    "algorithm", "utility",  "inttypes.h"};

/// C++'s: what device code takes from them, NVRTC does not find.
constexpr std::array<const char*, 29> kHost = {
    "cuda.h",  "unistd.h", "cerrno",      "errno.h",    "cstdarg",
    "array",   "atomic",   "chrono",      "functional", "initializer_list",
    "iomanip", "iostream", "limits",      "map",        "memory",
    "mutex",   "new",      "numeric",     "optional",   "random",
    "set",     "sstream",  "stdexcept",   "string",     "string_view",
    "thread",  "tuple",    "type_traits", "vector"};

}  // namespace

HeaderUse UseOfHeader(const std::string& name) {
  if (IsOneOf(name, kPrelude)) return {true, false, false};
  if (IsOneOf(name, kDevice)) return {true, true, false};
  if (IsOneOf(name, kBoth) || IsOneOf(name, kC)) return {true, true, true};
  const std::string cub = "cub/";
  for (const char* part : {"block/", "warp/", "thread/", "cub.cuh"}) {
    if (name.rfind(cub + part, 0) == 0) return {true, true, false};
  }
  // In torch's form; else they are not found, and nvcc says so.
  for (const char* part : {"torch/", "ATen/", "c10/", "pybind11/"}) {
    if (name.rfind(part, 0) == 0) return {true, true, true};
  }
  if (name == "jaxkern_torch/call.h") return {true, false, true};
  const bool host = IsOneOf(name, kHost) || name == "unordered_map" ||
                    name == "unordered_set";
  return {host, false, host};
}

}  // namespace jaxkern

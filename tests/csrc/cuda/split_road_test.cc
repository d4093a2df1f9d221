// Candidates built from two halves do with the runtime what nvcc's do: this
// program takes the runtime's place and looks. Needs nvcc and NVRTC, no GPU.
// JAXKERN_TEST_WHEELS is a site-packages directory that may hold their wheels.
#include <dlfcn.h>
#include <stdlib.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <stdexcept>
#include <vector>

#include "backends/cuda/cubin.h"
#include "backends/toolchain.h"
#include "check.h"
#include "core/native.h"
#include "torch_sample.h"
#include "workshop.h"

namespace {

struct Dim3 {
  unsigned x, y, z;
};

struct Called {
  std::string kernel;
  Dim3 grid, block;
  size_t shared;
  void* stream;
  std::vector<void*> arguments;  // what the first ones point to, 8 bytes each
};

struct Runtime {
  std::map<const void*, std::string> kernels, variables;
  std::map<const void*, size_t> sizes;
  std::vector<Called> calls;
  Called configured;
  std::string binary;
  int registered = 0, unregistered = 0;
  std::string copied_to, attribute_of;
};

Runtime runtime;

}  // namespace

#define FAKE extern "C" __attribute__((visibility("default")))

FAKE void** __cudaRegisterFatBinary(void* wrapper) {
  struct Wrapper {
    int magic, version;
    const char* data;
    void* none;
  };
  const auto* w = static_cast<const Wrapper*>(wrapper);
  CHECK_EQ(w->magic, 0x466243b1);
  uint64_t bytes = 0;
  std::memcpy(&bytes, w->data + 8, sizeof bytes);
  runtime.binary.assign(w->data, 16 + bytes);
  CHECK_EQ(reinterpret_cast<uintptr_t>(w->data) % 8, 0u);
  ++runtime.registered;
  static void* handle;
  return &handle;
}
FAKE void __cudaRegisterFatBinaryEnd(void**) {}
FAKE void __cudaUnregisterFatBinary(void**) { ++runtime.unregistered; }
FAKE void __cudaRegisterFunction(void**, const char* host, char* device,
                                 const char*, int, void*, void*, void*, void*,
                                 int*) {
  runtime.kernels[host] = device;
}
FAKE void __cudaRegisterVar(void**, char* host, char* device, const char*, int,
                            size_t bytes, int constant, int) {
  runtime.variables[host] =
      device + std::string(constant != 0 ? " constant" : " global");
  runtime.sizes[host] = bytes;
}
FAKE unsigned __cudaPushCallConfiguration(Dim3 grid, Dim3 block, size_t shared,
                                          void* stream) {
  runtime.configured = {"", grid, block, shared, stream, {}};
  return 0;
}
FAKE int __cudaPopCallConfiguration(Dim3* grid, Dim3* block, size_t* shared,
                                    void* stream) {
  *grid = runtime.configured.grid;
  *block = runtime.configured.block;
  *shared = runtime.configured.shared;
  *static_cast<void**>(stream) = runtime.configured.stream;
  return 0;
}
FAKE int cudaLaunchKernel(const void* kernel, Dim3 grid, Dim3 block,
                          void** arguments, size_t shared, void* stream) {
  Called called = {runtime.kernels[kernel], grid, block, shared, stream, {}};
  for (; *arguments != nullptr; ++arguments) {
    void* value = nullptr;
    std::memcpy(&value, *arguments, 4);
    called.arguments.push_back(value);
  }
  runtime.calls.push_back(called);
  return 0;
}
FAKE int cudaMemcpyToSymbol(const void* symbol, const void*, size_t, size_t,
                            int) {
  runtime.copied_to = runtime.variables[symbol];
  return 0;
}
FAKE int cudaFuncSetAttribute(const void* kernel, int, int) {
  runtime.attribute_of = runtime.kernels[kernel];
  return 0;
}
FAKE int cudaGetLastError() { return 0; }

namespace {

using jaxkern::FastBuild;
using jaxkern::Toolchain;
using jaxkern::testing::TemporaryDirectory;
using jaxkern::testing::TestWorkshop;

std::unique_ptr<Toolchain> found;

/// Builds, loads and calls `launch(int*, 7, stream 5)`.
FastBuild RunCandidate(const std::string& source,
                       const std::vector<std::string>& flags = {}) {
  static TemporaryDirectory scratch;
  static int number = 0;
  const TestWorkshop workshop(scratch.path() + "/" + std::to_string(++number));
  runtime = {};
  FastBuild build = found->BuildFast(source, flags, workshop);
  if (!build.done) return build;
  CHECK_EQ(build.ended.exit_code, 0);
  void* library =
      dlopen((workshop.Directory() + "/kernel.so").c_str(), RTLD_NOW);
  if (library == nullptr) std::printf("%s\n", dlerror());
  CHECK(library != nullptr);
  CHECK_EQ(runtime.registered, 1);
  const auto launch =
      reinterpret_cast<int (*)(int*, int, void*)>(dlsym(library, "launch"));
  CHECK(launch != nullptr);
  CHECK_EQ(launch(reinterpret_cast<int*>(3), 7, reinterpret_cast<void*>(5)), 0);
  dlclose(library);
  CHECK_EQ(runtime.unregistered, 1);
  return build;
}

void CheckSplit(const FastBuild& build) {
  CHECK_EQ(build.reason, "");
  CHECK_EQ(build.road, "split");
  if (!build.done) std::exit(1);  // there is nothing to look at
}

const char kPlain[] = R"(
#define BLOCK 128
__device__ int helper(int x) { return x + BLOCK; }
__global__ void first(int* out, int n) { out[0] = helper(n); }
namespace inner { static __global__ void second(short a, float b) {} }
extern "C" __global__ void third() {}
extern "C" int launch(int* out, int n, cudaStream_t stream) {
  first<<<dim3(n, 2), BLOCK, 64, stream>>>(out, n + 1);
  inner::second<<<1, 1>>>(n, 1.0f);
  third<<<1, 2>>>();
  return cudaGetLastError();
}
)";

TEST(LaunchesReachTheirKernelsWithTheirArguments) {
  const FastBuild build = RunCandidate(kPlain);
  CheckSplit(build);
  CHECK_EQ(runtime.calls.size(), 3u);
  const Called& first = runtime.calls[0];
  CHECK_EQ(first.kernel, "_Z5firstPii");
  CHECK_EQ(first.grid.x, 7u);
  CHECK_EQ(first.grid.y, 2u);
  CHECK_EQ(first.grid.z, 1u);
  CHECK_EQ(first.block.x, 128u);
  CHECK_EQ(first.shared, 64u);
  CHECK(first.stream == reinterpret_cast<void*>(5));
  CHECK(first.arguments[0] == reinterpret_cast<void*>(3));
  CHECK(first.arguments[1] == reinterpret_cast<void*>(8));
  CHECK_EQ(runtime.calls[1].kernel, "_ZN5inner6secondEsf");
  CHECK_EQ(runtime.calls[2].kernel, "third");
  const auto symbols = jaxkern::DefinedSymbols(runtime.binary.substr(16 + 64));
  CHECK(symbols.has_value());
  for (const Called& call : runtime.calls) CHECK(symbols->count(call.kernel));
  CHECK(found->ParseResources(build.ended.output).registers > 0);
}

TEST(TemplatesAreInstantiatedAsTheHostUsesThem) {
  const FastBuild build = RunCandidate(R"(
enum class Mode { kSum, kMax };
template <typename T, Mode M = Mode::kSum>
__global__ void k(T* out, int n) { out[0] = n + (M == Mode::kMax); }
template <int N> __global__ void tile(int* out) { out[0] = N; }
template <int N> void run(int* out, int n) {
  if (n > 0) tile<N><<<N, N>>>(out);
}
extern "C" int launch(int* out, int n, cudaStream_t stream) {
  k<<<1, 1>>>(out, n);
  k<short, Mode::kMax><<<1, 1, 0, stream>>>((short*)out, n);
  run<8>(out, n);
  auto kernel = tile<16>;
  kernel<<<1, 1>>>(out);
  cudaFuncSetAttribute(tile<16>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                       1 << 16);
  return cudaGetLastError();
})");
  CheckSplit(build);
  CHECK_EQ(runtime.calls.size(), 4u);
  CHECK_EQ(runtime.calls[0].kernel, "_Z1kIiL4Mode0EEvPT_i");
  CHECK_EQ(runtime.calls[1].kernel, "_Z1kIsL4Mode1EEvPT_i");
  CHECK_EQ(runtime.calls[2].kernel, "_Z4tileILi8EEvPi");
  CHECK_EQ(runtime.calls[3].kernel, "_Z4tileILi16EEvPi");
  CHECK_EQ(runtime.attribute_of, "_Z4tileILi16EEvPi");
  CHECK_EQ(runtime.kernels.size(), 4u);
}

TEST(VariablesAreKnownToTheRuntime) {
  const FastBuild build = RunCandidate(R"(
static __constant__ float table[4];
namespace { __device__ int counter; }
__global__ void k(int* out) { out[counter] = table[1]; }
extern "C" int launch(int* out, int n, cudaStream_t stream) {
  float values[4] = {};
  cudaMemcpyToSymbol(table, values, sizeof values);
  k<<<1, 1, 0, stream>>>(out);
  return cudaGetLastError();
})");
  CheckSplit(build);
  CHECK_EQ(runtime.copied_to, "table constant");
  CHECK_EQ(runtime.sizes.begin()->second, 16u);
}

TEST(HeadersOfTheDeviceWork) {
  const FastBuild build = RunCandidate(R"(
#include <cooperative_groups.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>
#include <stdint.h>
#include <cmath>
#include <cub/block/block_reduce.cuh>
namespace cg = cooperative_groups;
using namespace nvcuda;
__global__ void k(int* out, const __half* h, int64_t n) {
  cg::this_thread_block().sync();
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> f;
  wmma::fill_fragment(f, 1.0f);
  using Reduce = cub::BlockReduce<float, 128>;
  __shared__ typename Reduce::TempStorage memory;
  float sum = Reduce(memory).Sum(f.x[0]);
  *out = sum + __half2float(h[n]) + (float)__float2bfloat16(INFINITY);
}
extern "C" int launch(int* out, int n, cudaStream_t stream) {
  k<<<1, 128, 0, stream>>>(out, nullptr, n);
  return cudaGetLastError();
})");
  CheckSplit(build);
  CHECK_EQ(runtime.calls.at(0).kernel, "_Z1kPiPK6__halfl");
}

TEST(TheDeviceGetsWhatOnlyInstancesArgumentsMention) {
  const FastBuild build = RunCandidate(R"(
constexpr int kBase = 3;
template <int N> struct Constant { static constexpr int value = N + kBase; };
template <typename C> __global__ void k(int* out) { *out = C::value; }
extern "C" int launch(int* out, int n, cudaStream_t stream) {
  k<Constant<4>><<<1, 1, 0, stream>>>(out);
  return cudaGetLastError();
})");
  CheckSplit(build);
  CHECK_EQ(runtime.calls.at(0).kernel, "_Z1kI8ConstantILi4EEEvPi");
}

TEST(ACubinThatIsTooLargeForItsRoomIsLinked) {
  const FastBuild build = RunCandidate(R"(
__device__ int table[1 << 14] = {1};
__global__ void k(int* out, int n) { *out = table[n]; }
extern "C" int launch(int* out, int n, cudaStream_t stream) {
  k<<<1, 1, 0, stream>>>(out, n);
  return cudaGetLastError();
})");
  CheckSplit(build);
  CHECK(runtime.binary.size() > (1u << 16));
  const auto symbols = jaxkern::DefinedSymbols(runtime.binary.substr(16 + 64));
  CHECK(symbols.has_value() && symbols->count("_Z1kPii") == 1);
}

const std::string kTorch = jaxkern::NativeDirectory() + "/torch";
TEST(TorchsFormIsSplitAndDispatchedTypesAreInstances) {
  const FastBuild build =
      RunCandidate(kTorchForm, {"-I" + kTorch, "-DJAXKERN_TORCH_HEADERS=0x1"});
  CheckSplit(build);
  CHECK_EQ(runtime.kernels.size(), 3u);
  CHECK_EQ(runtime.calls.size(), 2u);
  CHECK_EQ(runtime.calls[0].kernel, "_Z11relu_kernelIfEvPKT_PS0_l");
  CHECK_HAS(runtime.calls[1].kernel, "GenericPackedTensorAccessor");
}

TEST(TorchsHalfIsTheSameTypeInBothHalves) {
  std::string text = kTorchForm;
  const std::string macro = "AT_DISPATCH_FLOATING_TYPES";
  text.insert(text.find(macro) + macro.size(), "_AND_HALF");
  const FastBuild build = RunCandidate(
      text, {"-I" + kTorch, "-DJAXKERN_TORCH_HALF", "-include", "string"});
  CheckSplit(build);
  CHECK_EQ(runtime.kernels.size(), 4u);
}

TEST(FlagsOfLibrariesAreLeftToNvcc) {
  const FastBuild build = RunCandidate(kPlain, {"-L/usr/lib", "-l:libx.so"});
  CHECK(!build.done);
  CHECK_EQ(build.reason, "it is linked with libraries");
}

TEST(ErrorsAreLeftToNvcc) {
  // The host may know it.
  FastBuild build = RunCandidate("__global__ void k() {\n  getenv = 1;\n}");
  CHECK(!build.done);
  CHECK_EQ(build.road, "nvcc");
  CHECK_HAS(build.reason, "kernel.cu(2): error: identifier \"getenv\"");
  build = RunCandidate("__global__ void k() {}\n\nint f() { return no; }");
  CHECK(!build.done);
  CHECK_HAS(build.reason, "kernel.cu:3:");
  build = RunCandidate("__global__ void k() {}\nint f() { k<<<1, 1>>>(2); }");
  CHECK(!build.done);
}

TEST(ANameThatNothingDeclaresNeedsNoNvcc) {
  const std::string kernel =
      "#include <vector>\n__global__ void k() {\n  undeclared = 1;\n}\n";
  static TemporaryDirectory scratch;  // compile workers stay in there
  const auto build = [&](const std::string& text, const char* place) {
    const TestWorkshop workshop(scratch.path() + place);
    return found->BuildFast(text, {}, workshop);
  };
  const FastBuild sure = build(kernel, "/sure");
  CHECK(sure.done);
  CHECK_EQ(sure.ended.exit_code, 1);
  CHECK_HAS(sure.ended.output, "kernel.cu(3): error: identifier");
  // A name that stands in the host's half, or in a header, may mean something.
  CHECK(!build(kernel + "void f() { int undeclared = 2; }\n", "/host").done);
  std::string vector = kernel;
  vector.replace(vector.find("undeclared"), 10, "push_back");
  CHECK(!build(vector, "/header").done);
}

TEST(ATemplateBombEndsAtTheDeadlineAndTheNextCandidateBuilds) {
  TemporaryDirectory scratch;
  const TestWorkshop hurried(scratch.path() + "/bomb", 3);
  const FastBuild build = found->BuildFast(R"(
template <int N, int M> struct Bomb {
  static constexpr long long value =
      Bomb<N - 1, 2 * M>::value + Bomb<N - 1, 2 * M + 1>::value;
};
template <int M> struct Bomb<0, M> { static constexpr long long value = M; };
__global__ void k(long long* x) { *x = Bomb<25, 0>::value; }
int launch(long long* x) { k<<<1, 1>>>(x); return 0; }
)",
                                           {}, hurried);
  CHECK(build.done);
  CHECK(build.ended.timed_out);
  CheckSplit(RunCandidate(kPlain));
}

}  // namespace

int main() {
  if (const char* wheels = getenv("JAXKERN_TEST_WHEELS")) {
    setenv("JAXKERN_SITE_PACKAGES", wheels, 1);
  }
  try {
    found = jaxkern::MakeCudaToolchain("");
  } catch (const std::invalid_argument& error) {
    std::printf("skipped: %s\n", error.what());
    return 77;
  }
  if (found->Describe().find("NVRTC") == std::string::npos) {
    std::printf("skipped: no NVRTC\n");
    return 77;
  }
  return jaxkern::testing::RunTests();
}

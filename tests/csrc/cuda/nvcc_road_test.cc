// nvcc's steps side by side leave what nvcc leaves, and say what it says. Needs
// nvcc, no GPU. JAXKERN_TEST_WHEELS as in toolchain_test.cc.
#include "backends/cuda/nvcc_road.h"

#include <stdlib.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "backends/toolchain.h"
#include "check.h"
#include "nvcc_both.h"
#include "workshop.h"

namespace {

using jaxkern::Ended;
using jaxkern::Toolchain;
using jaxkern::testing::BuildByNvcc;
using jaxkern::testing::BuildInSteps;
using jaxkern::testing::Left;
using jaxkern::testing::TemporaryDirectory;
using jaxkern::testing::TestWorkshop;

std::unique_ptr<Toolchain> found;

/// The lines that do not say how long something took, with one name for the
/// file between two steps that ptxas mentions.
std::string Lines(const std::string& output) {
  std::istringstream lines(output);
  std::string kept;
  for (std::string line; std::getline(lines, line);) {
    const size_t end = line.find(".ptx, line");
    if (end != std::string::npos) {
      const size_t begin = line.rfind(' ', end) + 1;
      line.replace(begin, end - begin, "kernel");
    }
    if (line.find("Compile time") == std::string::npos) kept += line + "\n";
  }
  return kept;
}

/// By nvcc and by its steps, in one place, since names depend on it.
struct Both {
  Left nvcc, steps;

  explicit Both(const std::string& source,
                const std::vector<std::string>& flags = {}) {
    const TemporaryDirectory scratch;
    const std::string directory = scratch.path() + "/build";
    nvcc = BuildByNvcc(*found, source, flags, directory);
    steps = BuildInSteps(*found, source, flags, directory);
  }
};

void CheckSame(const std::string& source,
               const std::vector<std::string>& flags = {}) {
  const Both both(source, flags);
  CHECK_EQ(both.nvcc.ended.exit_code, 0);
  CHECK_EQ(both.steps.ended.exit_code, 0);
  if (both.steps.ended.exit_code != 0) {
    std::printf("%s", both.steps.ended.output.c_str());
  }
  CHECK(!both.nvcc.device.empty());
  CHECK(both.nvcc.device == both.steps.device);
  CHECK(both.nvcc.symbols.size() > 10);
  CHECK(both.nvcc.symbols == both.steps.symbols);
  CHECK_EQ(Lines(both.steps.ended.output), Lines(both.nvcc.ended.output));
}

/// Where one process may run at a time.
class Narrow final : public jaxkern::Workshop {
 public:
  explicit Narrow(const Workshop& wide) : wide_(wide) {}
  const std::string& Directory() const override { return wide_.Directory(); }
  std::string KeptDirectory() const override { return wide_.KeptDirectory(); }
  std::chrono::steady_clock::time_point Deadline() const override {
    return wide_.Deadline();
  }
  int Cancel() const override { return -1; }
  Ended Run(const std::vector<std::string>& argv,
            const std::string& directory) const override {
    Ended ended;
    if (running_++ == 0) {
      ended = wide_.Run(argv, directory);
    } else {
      ended.starved = true;
      ++starved;
    }
    --running_;
    return ended;
  }
  bool Start(const std::vector<std::string>&, const std::string&, int,
             jaxkern::Subprocess*) const override {
    return false;
  }

  mutable std::atomic<int> starved{0};

 private:
  const Workshop& wide_;
  mutable std::atomic<int> running_{0};
};

}  // namespace

TEST(APlainKernel) {
  CheckSame(R"(#include <cuda_fp16.h>
__constant__ float factor;
__global__ void k(const __half* x, float* y) {
  extern __shared__ float tile[];
  tile[threadIdx.x] = expf(__half2float(x[threadIdx.x])) * factor;
  __syncthreads();
  y[threadIdx.x] = tile[blockDim.x - threadIdx.x - 1] + sinf(tile[0]);
}
extern "C" int launch(const void* x, float* y, cudaStream_t stream) {
  const float two = 2;
  cudaMemcpyToSymbol(factor, &two, 4);
  k<<<1, 32, 128, stream>>>((const __half*)x, y);
  return cudaGetLastError();
})");
}

TEST(TemplatesLambdasAndTheHostsLibrary) {
  CheckSame(R"(#include <algorithm>
#include <vector>
template <typename F> __global__ void map(float* y, int n, F f) {
  if (threadIdx.x < n) y[threadIdx.x] = f(std::max(y[threadIdx.x], 0.f));
}
extern "C" int launch(float* y, int n, cudaStream_t stream) {
  std::vector<float> some(n, 2.0f);
  const float first = some.empty() ? 0 : some[0];
  map<<<1, 32, 0, stream>>>(y, n, [=] __device__(float x) { return x + first; });
  return cudaGetLastError();
})");
}

// Their names hold the unit's, which is known late.
TEST(NamesWithoutLinkage) {
  CheckSame(R"(namespace {
__device__ float hidden[3];
__global__ void anonymous(float* y) { y[0] = hidden[1]; }
}
static __device__ int counter;
static __global__ void local(float* y) { y[1] = atomicAdd(&counter, 1); }
static int before = 3;
extern "C" int launch(float* y, cudaStream_t stream) {
  anonymous<<<1, 1, 0, stream>>>(y);
  local<<<before, 1, 0, stream>>>(y);
  return cudaGetLastError();
})");
}

TEST(FlagsOfACandidatesOwn) {
  CheckSame(R"(__global__ void k(float* y) { y[0] = FACTOR / y[1]; }
extern "C" int launch(float* y, cudaStream_t stream) {
  k<<<1, 1, 0, stream>>>(y);
  return cudaGetLastError();
})",
            {"-DFACTOR=3.0f", "--use_fast_math", "-maxrregcount=32"});
}

TEST(MistakesAreTold) {
  for (const char* source :
       {"__global__ void k() {\n  undeclared = 1;\n}\n",  // both halves
        "#include \"missing.h\"\n",                       // the preprocessor
        "#ifdef __CUDA_ARCH__\n#error here\n#endif\n",    // the device's half
        "#ifndef __CUDA_ARCH__\n#error there\n#endif\n",  // the host's
        "int f();\nextern \"C\" int launch() { return f() + g; }\n",
        "__global__ void k(int* y) { asm(\"nonsense %0;\" :: \"r\"(*y)); "
        "}\n"}) {
    const Both both(source);
    CHECK(both.nvcc.ended.exit_code > 0);
    CHECK(both.steps.ended.exit_code > 0);
    // In nvcc's order, and nothing of what it would not have come to; nvcc
    // itself adds a line on a part's end by a signal only.
    CHECK_EQ(Lines(both.steps.ended.output), Lines(both.nvcc.ended.output));
  }
}

TEST(WithoutProcessesForBothHalvesTheyTakeTurns) {
  const TemporaryDirectory scratch;
  const TestWorkshop wide(scratch.path() + "/build");
  const Narrow workshop(wide);
  std::ofstream(workshop.Directory() + "/kernel.cu") << "int x;\n";
  const auto ended = found->RunSteps({}, workshop);
  CHECK(ended && ended->exit_code == 0);
  CHECK(workshop.starved > 0);
}

TEST(ADeadlineEndsBothHalves) {
  const TemporaryDirectory scratch;
  const TestWorkshop workshop(scratch.path() + "/build", 0.05);
  std::ofstream(workshop.Directory() + "/kernel.cu") << "int x;\n";
  // The dry run may end in time; what is known by now needs none.
  const auto ended = found->RunSteps({}, workshop);
  CHECK(ended && ended->timed_out);
}

int main() {
  if (const char* wheels = std::getenv("JAXKERN_TEST_WHEELS")) {
    setenv("JAXKERN_SITE_PACKAGES", wheels, /*overwrite=*/0);
  }
  try {
    found = jaxkern::MakeCudaToolchain("");
  } catch (const std::invalid_argument& error) {
    std::printf("skipped: %s\n", error.what());
    return 77;
  }
  return jaxkern::testing::RunTests();
}

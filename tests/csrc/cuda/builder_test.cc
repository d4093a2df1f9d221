// Candidates through the builder on the cuda device: which road is taken, that
// the sandbox, the cache, limits and messages are the same on both. Needs nvcc
// and NVRTC, no GPU. JAXKERN_TEST_WHEELS is a site-packages directory that may
// hold their wheels.
#include "core/builder.h"

#include <stdlib.h>

#include <cstdlib>
#include <stdexcept>

#include "../core/bundle.h"
#include "check.h"
#include "core/cache.h"
#include "core/guard.h"
#include "core/inspect.h"
#include "core/native.h"
#include "core/problem.h"
#include "core/sandbox.h"

namespace {

using jaxkern::Build;
using jaxkern::Builder;
using jaxkern::Status;
using jaxkern::testing::TemporaryDirectory;

/// A builder with a cache of its own, for the problem y = a * x.
struct Bench {
  Bench()
      : guard(jaxkern::NativeDirectory()),
        cache(directory.path() + "/cache", int64_t{1} << 30),
        builder(jaxkern::MakeCudaToolchain(""), &cache, guard.scratch(),
                guard.fd(), -1) {
    jaxkern::testing::WriteScaleBundle(bundle);
    problem = jaxkern::ReadProblem(bundle.path());
  }

  Build Make(const std::string& source, double timeout_s = 60) {
    return builder.Make(source, *problem, timeout_s);
  }

  TemporaryDirectory directory, bundle;
  jaxkern::Guard guard;
  jaxkern::Cache cache;
  Builder builder;
  std::shared_ptr<const jaxkern::Problem> problem;
};

Bench& bench() {
  static Bench one;
  return one;
}

const std::string kSource = R"(
__global__ void scale(const float* x, float* y, int64_t n, float a) {
  __shared__ float tile[64];
  int64_t i = blockIdx.x * 64 + threadIdx.x;
  tile[threadIdx.x] = i < n ? x[i] : 0.0f;
  __syncthreads();
  if (i < n) y[i] = a * tile[threadIdx.x];
}
extern "C" int launch(const float* x, float* y, int64_t n, float a,
                      cudaStream_t stream) {
  scale<<<(n + 63) / 64, 64, 0, stream>>>(x, y, n, a);
  return cudaGetLastError();
}
)";

TEST(BuildsOnTheFastRoadAndRemembersIt) {
  const Build first = bench().Make(kSource);
  CHECK_EQ(first.log, "");
  CHECK(first.status == Status::kOk);
  CHECK_EQ(first.road_reason, "");
  CHECK_EQ(first.road, "split");
  CHECK_EQ(first.resources.shared_bytes, 256);
  CHECK(first.resources.registers > 4);
  const Build again = bench().Make(kSource);
  CHECK(again.cache_hit);
  CHECK_EQ(again.road, "split");
}

/// The evidence against what is built on the fast road; "" if there is none.
std::string Evidence(const std::string& source) {
  const Build build = bench().Make(source);
  CHECK_EQ(build.road_reason, "");
  CHECK_EQ(build.road, "split");
  const auto offence = jaxkern::Inspect(build.library.get());
  return offence ? offence->rule + ": " + offence->evidence : "";
}

TEST(WhatIsBuiltIsJudgedByTheRulesAsEver) {
  CHECK_EQ(Evidence(kSource + "// inspected\n"), "");
  CHECK_EQ(Evidence(kSource + "extern \"C\" int setsid();\n"
                              "int f() { return setsid(); }\n"),
           "tampers: imports setsid");
  CHECK_EQ(
      Evidence(kSource + "extern \"C\" int cudaEventOwn() { return 0; }\n"),
      "replaces_runtime: defines cudaEventOwn");
}

TEST(WhatCannotBeDividedGoesToNvcc) {
  const Build build =
      bench().Make(kSource + "#ifdef __CUDACC__\n__device__ int more;\n#endif");
  CHECK(build.status == Status::kOk);
  CHECK_EQ(build.road, "nvcc");
  CHECK_EQ(build.road_reason, "it uses __CUDACC__");
}

// With its library of device functions, and all that the other half includes.
TEST(NvccsStepsRunInTheSandbox) {
  if (jaxkern::MakeRuleset({})) CHECK(bench().builder.sandboxed());
  const Build build =
      bench().Make("#include <cmath>\n#include <vector>\n" + kSource +
                   "#ifdef __CUDACC__\n__global__ void more(double* y) {\n"
                   "  *y = std::pow(*y, 0.3) + sinf(float(*y));\n}\n#endif");
  CHECK_EQ(build.log, "");
  CHECK(build.status == Status::kOk);
  CHECK_EQ(build.road, "nvcc");
  CHECK(build.resources.registers > 8);
}

TEST(ErrorsAreNvccsUnlessTheyAreSure) {
  const Build type = bench().Make(
      "__global__ void k(float* x) {\n  int* y = x;\n}\n" + kSource);
  CHECK(type.status == Status::kCompileError);
  CHECK_EQ(type.road, "nvcc");
  const Build syntax =
      bench().Make("__global__ void k() {\n  int i = 1\n}\n" + kSource);
  CHECK(syntax.status == Status::kCompileError);
  CHECK_EQ(syntax.road, "split");
  CHECK_HAS(syntax.log, "kernel.cu(3): error: expected a \";\"");
  const Build build =
      bench().Make("__global__ void k() {\n  undeclared = 1;\n}\n" + kSource);
  CHECK(build.status == Status::kCompileError);
  CHECK_EQ(build.road, "split");
  CHECK_HAS(build.log, "kernel.cu(2): error: identifier \"undeclared\"");
}

TEST(AnotherSignatureIsACompilerError) {
  const Build build = bench().Make(
      "__global__ void k() {}\n"
      "extern \"C\" int launch(float*, cudaStream_t) { return 0; }");
  CHECK(build.status == Status::kCompileError);
  CHECK_HAS(build.log, "signature(1): error: ");
}

TEST(FilesAreClosedToBothHalves) {
  if (!bench().builder.sandboxed()) return;
  TemporaryDirectory secret;
  secret.Write("secret.h", "#define SECRET 1\n");
  for (const std::string& how :
       {"#include \"" + secret.path() + "/secret.h\"\n",
        "#define FILE <" + secret.path() + "/secret.h>\n#include FILE\n"}) {
    const Build build = bench().Make(how + kSource);
    CHECK(build.status == Status::kCompileError);
    CHECK_EQ(build.road, "nvcc");
    CHECK(build.log.find("SECRET") == std::string::npos);
  }
}

TEST(ABombCostsItsOwnTimeOnly) {
  const Build bomb = bench().Make(
      "template <int N, int M> struct B { static constexpr long v =\n"
      "  B<N - 1, 2 * M>::v + B<N - 1, 2 * M + 1>::v; };\n"
      "template <int M> struct B<0, M> { static constexpr long v = M; };\n"
      "__global__ void bomb(long* x) { *x = B<25, 0>::v; }\n" +
          kSource,
      5);
  CHECK(bomb.status == Status::kTimeout);
  CHECK(bench().Make(kSource + "// after it\n").road == "split");
}

}  // namespace

int main() {
  if (const char* wheels = getenv("JAXKERN_TEST_WHEELS")) {
    setenv("JAXKERN_SITE_PACKAGES", wheels, 1);
  }
  try {
    if (jaxkern::MakeCudaToolchain("")->Describe().find("NVRTC") ==
        std::string::npos) {
      std::printf("skipped: no NVRTC\n");
      return 77;
    }
  } catch (const std::invalid_argument& error) {
    std::printf("skipped: %s\n", error.what());
    return 77;
  }
  return jaxkern::testing::RunTests();
}

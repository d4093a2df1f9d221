// nvcc is found, builds real candidates and is understood; needs nvcc and no
// GPU. JAXKERN_TEST_WHEELS is a site-packages directory that may hold nvcc's
// wheels.
#include "backends/toolchain.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>

#include "backends/cuda/nvcc.h"
#include "check.h"
#include "core/elf_symbols.h"
#include "core/subprocess.h"

namespace {

using jaxkern::Ended;
using jaxkern::MakeCudaToolchain;
using jaxkern::Resources;
using jaxkern::Toolchain;
using jaxkern::testing::TemporaryDirectory;

std::unique_ptr<Toolchain> found;  // the one on PATH
std::string site_packages;         // of a Python that may have the wheels

const char kKernel[] = R"(#include <cuda_runtime.h>
__global__ void add(const float* x, float* y, int64_t n) {
  __shared__ float tile[256];
  int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
  tile[threadIdx.x] = i < n ? x[i] : 0.0f;
  __syncthreads();
  if (i < n) y[i] = tile[threadIdx.x] + tile[(threadIdx.x + 1) % 256];
}
extern "C" int launch(const float* x, float* y, int64_t n,
                      cudaStream_t stream) {
  add<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  return cudaGetLastError();
})";

const char kEntry[] = R"(#line 1 "signature"
extern "C" int launch(const float*, float*, int64_t,
                      cudaStream_t);
extern "C" int jaxkern_entry(void** a, void* stream) {
  return launch(*(const float**)a[0], *(float**)a[1], *(int64_t*)a[2],
                (cudaStream_t)stream);
})";

Ended Build(const Toolchain& toolchain, const std::string& source,
            const std::string& directory) {
  std::ofstream(directory + "/" + toolchain.SourceName())
      << toolchain.Prepare(source, kEntry).text;
  jaxkern::Command command;
  command.argv = toolchain.Command(directory);
  command.directory = directory;
  command.environment = jaxkern::ScrubbedEnvironment();
  return jaxkern::Run(command, 120);
}

/// Builds kKernel, loads it beside the runtime it was linked with, as a worker
/// does, and finds the entry.
void CheckLoadable(const Toolchain& toolchain) {
  TemporaryDirectory scratch;
  const Ended ended = Build(toolchain, kKernel, scratch.path());
  CHECK_EQ(ended.exit_code, 0);
  if (ended.exit_code != 0) std::printf("%s", ended.output.c_str());

  const std::string variable = toolchain.WorkerEnvironment().at(0);
  CHECK_HAS(variable, "JAXKERN_CUDART=/");
  const std::string cudart = variable.substr(variable.find('=') + 1);
  CHECK(dlopen(cudart.c_str(), RTLD_NOW | RTLD_GLOBAL) != nullptr);
  void* kernel = dlopen((scratch.path() + "/kernel.so").c_str(), RTLD_NOW);
  if (kernel == nullptr) std::printf("%s\n", dlerror());
  CHECK(kernel != nullptr);
  CHECK(dlsym(kernel, "jaxkern_entry") != nullptr);

  const Resources resources = toolchain.ParseResources(ended.output);
  CHECK(resources.registers > 4 && resources.registers < 64);
  CHECK_EQ(resources.shared_bytes, 1024);  // 256 floats
  CHECK_EQ(resources.spill_bytes, 0);
}

TEST(BuildsWhatAWorkerCanLoad) { CheckLoadable(*found); }

TEST(LeavesNothingButTheSharedObject) {
  const Toolchain& toolchain = *found;
  TemporaryDirectory scratch;
  Build(toolchain, kKernel, scratch.path());
  int files = 0;
  for (const auto& file : std::filesystem::directory_iterator(scratch.path())) {
    CHECK(file.path().filename() == "kernel.so" ||
          file.path().filename() == "kernel.cu");
    ++files;
  }
  CHECK_EQ(files, 2);
}

TEST(ErrorsPointAtTheCandidatesOwnLines) {
  const Toolchain& toolchain = *found;
  TemporaryDirectory scratch;
  const Ended ended = Build(
      toolchain, "__global__ void k() {\n  undeclared = 1;\n}", scratch.path());
  CHECK(ended.exit_code != 0);
  CHECK_HAS(ended.output, "kernel.cu(2): error: identifier \"undeclared\"");
}

TEST(AnotherSignatureIsACompilerError) {
  const Toolchain& toolchain = *found;
  TemporaryDirectory scratch;
  const Ended ended = Build(
      toolchain, "extern \"C\" int launch(float*, cudaStream_t) { return 0; }",
      scratch.path());
  CHECK(ended.exit_code != 0);
  CHECK_HAS(ended.output, "signature(1): error: ");
  CHECK_HAS(ended.output, "launch");
}

TEST(MissingLaunchIsALinkError) {
  const Toolchain& toolchain = *found;
  TemporaryDirectory scratch;
  Build(toolchain, "__global__ void k() {}", scratch.path());
  void* kernel = dlopen((scratch.path() + "/kernel.so").c_str(), RTLD_NOW);
  CHECK(kernel == nullptr);
  const std::string error = dlerror();
  CHECK_HAS(error, "undefined symbol: launch");
}

TEST(TheCppLibraryIsSharedThoughTheHostCompilerLinksItStatically) {
  const std::string path = getenv("PATH");
  TemporaryDirectory scratch;
  const std::string wrapper =
      scratch.Write("g++", "#!/bin/sh\nPATH=" + path +
                               " exec g++ \"$@\" -static-libstdc++\n");
  std::filesystem::permissions(wrapper, std::filesystem::perms::owner_all);
  setenv("PATH", (scratch.path() + ":" + path).c_str(), 1);
  const Ended ended = Build(*MakeCudaToolchain(""),
                            std::string("#include <string>\n") + kKernel +
                                "\nextern \"C\" size_t text(int n) {\n"
                                "  return std::to_string(n).size(); }",
                            scratch.path());
  setenv("PATH", path.c_str(), 1);
  CHECK_EQ(ended.exit_code, 0);
  std::ifstream file(scratch.path() + "/kernel.so", std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  const auto symbols = jaxkern::ReadElfSymbols(bytes.data(), bytes.size());
  CHECK(symbols.has_value());
  const auto has = [](const std::vector<std::string>& names, const char* name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  CHECK(has(symbols->needed, "libstdc++.so.6"));
  CHECK(!has(symbols->imported, "read"));
}

TEST(ResourcesAreTheMaximumOverKernels) {
  const Toolchain& toolchain = *found;
  const Resources resources = toolchain.ParseResources(
      R"(kernel.cu(3): warning #177-D: variable "v" was declared
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_Z5spillILi64EEvPKfPf' for 'sm_90a'
ptxas info    : Function properties for _Z5spillILi64EEvPKfPf
    280 bytes stack frame, 324 bytes spill stores, 300 bytes spill loads
ptxas info    : Used 32 registers, used 1 barriers, 280 bytes cumulative stack size
ptxas info    : Compile time = 26.281 ms
ptxas info    : Compiling entry function '_Z3addPKfPfl' for 'sm_90a'
ptxas info    : Function properties for _Z3addPKfPfl
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 10 registers, used 1 barriers, 4096 bytes smem
ptxas info    : Compile time = 3.621 ms
)");
  CHECK_EQ(resources.registers, 32);
  CHECK_EQ(resources.shared_bytes, 4096);
  CHECK_EQ(resources.spill_bytes, 624);
}

TEST(NoCompilerOutputMeansUnknownResources) {
  const Toolchain& toolchain = *found;
  const Resources resources = toolchain.ParseResources("error: Used x smem\n");
  CHECK_EQ(resources.registers, -1);
  CHECK_EQ(resources.shared_bytes, -1);
  CHECK_EQ(resources.spill_bytes, -1);
}

TEST(PreparingKeepsTheCandidateAsItIs) {
  const Toolchain& toolchain = *found;
  const auto prepared = toolchain.Prepare("a\nb", "entry");
  CHECK(prepared.supported);
  CHECK_EQ(prepared.text, "a\nb\nentry");
}

TEST(KernelsForTheSanitizerHaveLineNumbers) {
  const auto lines = jaxkern::MakeLinesToolchain("");
  CHECK(lines->Fingerprint() != found->Fingerprint());
  TemporaryDirectory scratch;
  CHECK_EQ(Build(*lines, kKernel, scratch.path()).exit_code, 0);
  const auto holds = [](const std::string& directory) {
    std::ostringstream code;
    code << std::ifstream(directory + "/kernel.so", std::ios::binary).rdbuf();
    return code.str().find(".debug_line") != std::string::npos;
  };
  CHECK(holds(scratch.path()));
  CHECK_EQ(Build(*found, kKernel, scratch.path()).exit_code, 0);
  CHECK(!holds(scratch.path()));
}

TEST(TheSanitizerIsFoundBesideNvccAndInItsToolkit) {
  TemporaryDirectory scratch;
  jaxkern::Nvcc nvcc;
  nvcc.path = scratch.path() + "/elsewhere/nvcc";
  nvcc.top = scratch.path() + "/toolkit";
  const auto add = [](const std::string& directory) {
    std::filesystem::create_directories(directory);
    const std::string path = directory + "/compute-sanitizer";
    std::ofstream(path) << "#!/bin/sh\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  };
  const std::string of_toolkit = add(nvcc.top + "/compute-sanitizer");
  CHECK_EQ(jaxkern::FindSanitizer(nvcc), of_toolkit);
  const std::string beside = add(scratch.path() + "/elsewhere");
  CHECK_EQ(jaxkern::FindSanitizer(nvcc), beside);
}

std::string ErrorOf(const std::string& compiler) {
  try {
    return "none: " + MakeCudaToolchain(compiler)->Describe();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
}

TEST(WrongCompilersAreRefusedByName) {
  CHECK_HAS(ErrorOf("/nowhere/nvcc"),
            "compiler: expected an nvcc, got /nowhere/nvcc");
  CHECK_HAS(ErrorOf("no-such-nvcc"), "no executable file on PATH");
  CHECK_HAS(ErrorOf("/bin/true"), "expected an nvcc, got /bin/true");
}

/// Leaves PATH with what nvcc needs but without nvcc.
TEST(SearchesHomeThenPathThenWheels) {
  CHECK_HAS(found->Describe(), ", PATH)");
  const std::string path = getenv("PATH");
  TemporaryDirectory scratch;
  const std::string bin = scratch.path() + "/bin";
  std::filesystem::create_directory(bin);
  for (const char* tool : {"g++", "gcc", "as", "ld", "sh", "rm", "cat"}) {
    const Ended which =
        jaxkern::Run({{"/bin/sh", "-c", std::string("command -v ") + tool},
                      "",
                      {"PATH=" + path}},
                     10);
    std::filesystem::create_symlink(
        which.output.substr(0, which.output.find('\n')), bin + "/" + tool);
  }
  setenv("PATH", bin.c_str(), 1);
  unsetenv("VIRTUAL_ENV");
  unsetenv("JAXKERN_SITE_PACKAGES");
  setenv("CUDA_HOME", scratch.path().c_str(), 1);
  const std::string error = ErrorOf("");
  CHECK_HAS(error, "no nvcc found: searched CUDA_HOME (" + scratch.path());
  CHECK_HAS(error, "/nvidia/cu*/bin/nvcc");
  CHECK_HAS(error, "pip install");

  if (access((site_packages + "/nvidia/cu13/bin/nvcc").c_str(), X_OK) == 0) {
    setenv("JAXKERN_SITE_PACKAGES", site_packages.c_str(), 1);
    const auto wheel = MakeCudaToolchain("");
    CHECK_HAS(wheel->Describe(), "nvidia/cu13/bin/nvcc, wheel)");
    CHECK_HAS(wheel->Describe(), site_packages + "/nvidia/cu13/lib/libcudart");
    CheckLoadable(*wheel);
  } else {
    std::printf("no nvcc in the wheels of \"%s\": not tested\n",
                site_packages.c_str());
  }

  // A nvcc in CUDA_HOME comes before the one on PATH.
  std::ofstream(bin + "/nvcc")
      << "#!/bin/sh\nPATH=" << path << " exec nvcc \"$@\"\n";
  std::filesystem::permissions(bin + "/nvcc",
                               std::filesystem::perms::owner_all);
  const std::string home = MakeCudaToolchain("")->Describe();
  CHECK_HAS(home, bin + "/nvcc, CUDA_HOME)");
  setenv("PATH", path.c_str(), 1);
  unsetenv("CUDA_HOME");
}

}  // namespace

int main() {
  if (const char* wheels = getenv("JAXKERN_TEST_WHEELS"))
    site_packages = wheels;
  unsetenv("CUDA_HOME");
  try {
    found = MakeCudaToolchain("");
  } catch (const std::invalid_argument& error) {
    std::printf("skipped: %s\n", error.what());
    return 77;
  }
  return jaxkern::testing::RunTests();
}

// NVIDIA's libraries are found where nvcc and wheels are; needs none of them.
#include "backends/cuda/libraries.h"

#include <stdlib.h>

#include <filesystem>
#include <string>

#include "check.h"

using jaxkern::CudaLibraryDirectories;
using jaxkern::FindCudaLibraries;
using jaxkern::Libraries;
using jaxkern::Nvcc;
using jaxkern::testing::TemporaryDirectory;

namespace {

// No machine has version 77 of anything.
constexpr char kMajor[] = "77";

/// A toolkit and a site-packages directory, both empty.
struct Machine {
  Machine() {
    nvcc.major = kMajor;
    nvcc.top = std::filesystem::canonical(files.path()).string() + "/toolkit";
    site = std::filesystem::canonical(files.path()).string() + "/site";
    setenv("JAXKERN_SITE_PACKAGES", site.c_str(), 1);
    unsetenv("CUDA_HOME");
  }

  void Add(const std::string& path) {
    const std::string whole = files.path() + "/" + path;
    std::filesystem::create_directories(whole.substr(0, whole.rfind('/')));
    files.Write(path, "");
  }

  TemporaryDirectory files;
  Nvcc nvcc;
  std::string site;
};

std::string Joined(const std::vector<std::string>& parts) {
  std::string all;
  for (const std::string& part : parts) all += part + " ";
  return all;
}

}  // namespace

TEST(WhatIsMissingIsNamed) {
  Machine machine;
  const Libraries none = FindCudaLibraries(machine.nvcc, {"cublas"});
  CHECK_EQ(none.missing,
           "needs cublas: no cublas_v2.h with a libcublas.so.77 in the "
           "toolkit, CUDA_HOME or a wheel");
  CHECK(none.flags.empty() && none.files.empty());
  CHECK_HAS(FindCudaLibraries(machine.nvcc, {"cub", "cufft"}).missing,
            "no library is known as cufft");
}

TEST(TemplatesComeWithEveryCompiler) {
  Machine machine;
  const Libraries libraries =
      FindCudaLibraries(machine.nvcc, {"cub", "thrust"});
  CHECK_EQ(libraries.missing, "");
  CHECK(libraries.flags.empty() && libraries.files.empty());
}

TEST(AToolkitsLibraryComesBeforeAWheels) {
  Machine machine;
  machine.Add("site/nvidia/cu77/include/cublas_v2.h");
  machine.Add("site/nvidia/cu77/lib/libcublas.so.77");
  machine.Add("site/nvidia/cu77/lib/libcublasLt.so.77");
  const std::string wheel = machine.site + "/nvidia/cu77";
  Libraries found = FindCudaLibraries(machine.nvcc, {"cublas"});
  CHECK_EQ(found.missing, "");
  CHECK_EQ(Joined(found.flags), "-isystem=" + wheel + "/include -L" + wheel +
                                    "/lib -l:libcublasLt.so.77 "
                                    "-l:libcublas.so.77 ");
  CHECK_EQ(Joined(found.files),
           wheel + "/lib/libcublasLt.so.77 " + wheel + "/lib/libcublas.so.77 ");
  // The host may have a cuDNN; the toolkit's comes before it.
  machine.Add("toolkit/include/cudnn.h");
  machine.Add("toolkit/lib64/libcudnn.so.9");
  CHECK_EQ(Joined(CudaLibraryDirectories(machine.nvcc)),
           wheel + "/lib " + machine.nvcc.top + "/lib64 ");

  machine.Add("toolkit/include/cublas_v2.h");
  machine.Add("toolkit/targets/x86_64-linux/lib/libcublas.so.77");
  // It is not whole yet.
  CHECK_EQ(Joined(FindCudaLibraries(machine.nvcc, {"cublas"}).flags),
           Joined(found.flags));
  machine.Add("toolkit/targets/x86_64-linux/lib/libcublasLt.so.77");
  found = FindCudaLibraries(machine.nvcc, {"cublas"});
  const std::string toolkit =
      machine.nvcc.top + "/targets/x86_64-linux/lib/libcublas";
  CHECK_EQ(Joined(found.files), toolkit + "Lt.so.77 " + toolkit + ".so.77 ");
}

TEST(OlderWheelsHaveADirectoryPerLibrary) {
  Machine machine;
  machine.Add("site/nvidia/cublas/include/cublas_v2.h");
  machine.Add("site/nvidia/cublas/lib/libcublas.so.77");
  machine.Add("site/nvidia/cublas/lib/libcublasLt.so.77");
  const std::string place = machine.site + "/nvidia/cublas/lib/";
  CHECK_EQ(Joined(FindCudaLibraries(machine.nvcc, {"cublas"}).files),
           place + "libcublasLt.so.77 " + place + "libcublas.so.77 ");
}

int main() { return jaxkern::testing::RunTests(); }

// A dry run is followed only where it is understood; needs no nvcc.
#include "backends/cuda/nvcc_steps.h"

#include <sys/stat.h>

#include <string>

#include "check.h"

using jaxkern::NvccSteps;
using jaxkern::ReadDryRun;
using jaxkern::testing::TemporaryDirectory;

namespace {

/// A toolkit of programs that do nothing.
struct Toolkit {
  Toolkit() {
    for (const char* name :
         {"gcc", "g++", "cudafe++", "cicc", "ptxas", "fatbinary"}) {
      chmod(files.Write(name, "#!/bin/sh\n").c_str(), 0755);
    }
  }

  /// What nvcc 13.0 prints for one architecture, much shortened.
  std::string DryRun() const {
    const std::string place = "--orig_src_path_name \"/dry/kernel.cu\" ";
    return "#$ _SPACE_= \n#$ CICC_PATH=" + files.path() +
           "\n#$ PATH=/no:" + files.path() +
           "\n#$ NVVMIR_LIBRARY_DIR=/libdevice\n"
           "#$ INCLUDES=\"-I/top/..//include\"  \n"
           "#$ gcc -std=c++17 -E -x c++ \"-I/top/..//include\" -m64 "
           "\"kernel.cu\" -o \"kernel.cpp4.ii\" \n"
           "#$ cudafe++ --m64 " +
           place +
           "--gen_c_file_name \"kernel.cudafe1.cpp\" --stub_file_name "
           "\"kernel.stub.c\" --gen_module_id_file --module_id_file_name "
           "\"kernel.module_id\" \"kernel.cpp4.ii\" \n"
           "#$ gcc -D__CUDA_ARCH__=900 -E -x c++ \"kernel.cu\" -o "
           "\"kernel.cpp1.ii\" \n"
           "#$ \"$CICC_PATH/cicc\" --m64 " +
           place +
           "--include_file_name \"kernel.fatbin.c\" --module_id_file_name "
           "\"kernel.module_id\" --stub_file_name \"kernel.stub.c\"  "
           "\"kernel.cpp1.ii\" -o \"kernel.ptx\"\n"
           "#$ ptxas -arch=sm_90a -m64 -v  \"kernel.ptx\"  -o "
           "\"kernel.cubin\" \n"
           "#$ fatbinary -64 --cmdline=\"-v  \" "
           "\"--image3=kind=elf,sm=90a,file=kernel.cubin\" "
           "--embedded-fatbin=\"kernel.fatbin.c\" \n"
           "#$ gcc -c -x c++ \"kernel.cudafe1.cpp\" -o \"kernel.o\" \n"
           "#$ g++ -Wl,--start-group \"kernel.o\" -shared -o \"kernel.so\" \n";
  }

  /// Whether it is still followed with one place changed.
  bool Follows(const std::string& old, const std::string& with) const {
    std::string printed = DryRun();
    const size_t at = printed.find(old);
    CHECK(at != std::string::npos);
    printed.replace(at, old.size(), with);
    return ReadDryRun(printed, "/dry").has_value();
  }

  TemporaryDirectory files;
};

}  // namespace

TEST(TheStepsOfOneArchitecture) {
  const Toolkit toolkit;
  const auto steps = ReadDryRun(toolkit.DryRun(), "/dry");
  CHECK(steps.has_value());
  if (!steps) return;
  CHECK_EQ(steps->identity, "kernel.module_id");
  CHECK_EQ(steps->stub, "kernel.stub.c");
  CHECK_EQ(steps->ptx, "kernel.ptx");
  const auto text = steps->In("/build", NvccSteps::kHostText);
  CHECK_EQ(text[0], toolkit.files.path() + "/gcc");
  CHECK_EQ(text[5], "-I/top/..//include");
  const auto pack = steps->In("/build", NvccSteps::kPack);
  CHECK_EQ(pack[2], "--cmdline=-v  ");
  const auto front = steps->In("/build", NvccSteps::kDeviceFront);
  CHECK_EQ(front[1], "NVVMIR_LIBRARY_DIR=/libdevice");
  CHECK_EQ(front[2], toolkit.files.path() + "/cicc");
  CHECK_EQ(front[5], "/build/kernel.cu");
}

TEST(WhatIsNotUnderstoodIsNotFollowed) {
  const Toolkit toolkit;
  CHECK(toolkit.Follows("-m64 ", "-m64 -g "));  // it does not break so easily
  CHECK(!toolkit.Follows("#$ ptxas", "#$ nvlink"));
  CHECK(!toolkit.Follows("#$ g++", "#$ rm kernel.fatbin\n#$ g++"));
  CHECK(!toolkit.Follows("#$ ptxas", "nvcc warning : deprecated\n#$ ptxas"));
  CHECK(!toolkit.Follows("#$ gcc", "#$ clang"));
  CHECK(!toolkit.Follows("-m64 ", "-m64 -DX='1 2' "));
  CHECK(!toolkit.Follows("-m64 ", "-m64 $OTHER "));
  CHECK(!toolkit.Follows("-m64 ", "-m64 -DX=\\\" "));
  CHECK(!toolkit.Follows("-m64 ", "-m64 > out "));
  CHECK(!toolkit.Follows("\"kernel.so\"", "\"kernel.so"));
  CHECK(!toolkit.Follows("#$ NVVMIR_LIBRARY_DIR=/libdevice\n", ""));
}

TEST(StepsThatDoNotMeetAreNotFollowed) {
  const Toolkit toolkit;
  for (const char* file :
       {"kernel.cpp4.ii", "kernel.cpp1.ii", "kernel.ptx", "kernel.cubin",
        "kernel.fatbin.c", "kernel.module_id", "kernel.stub.c", "kernel.o",
        "kernel.cudafe1.cpp", "kernel.so", "/dry/kernel.cu"}) {
    CHECK(!toolkit.Follows(file, "another"));
  }
  CHECK(!toolkit.Follows("--gen_module_id_file ", ""));
  CHECK(!toolkit.Follows("-shared", "-static"));
}

TEST(AProgramThatIsNotThereIsNotFollowed) {
  const Toolkit toolkit;
  chmod((toolkit.files.path() + "/ptxas").c_str(), 0644);
  CHECK(!ReadDryRun(toolkit.DryRun(), "/dry"));
}

TEST(AnotherPlaceIsNotFollowed) {
  CHECK(!ReadDryRun(Toolkit().DryRun(), "/elsewhere"));
}

int main() { return jaxkern::testing::RunTests(); }

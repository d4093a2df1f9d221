// compute-sanitizer's reports, in the forms that its manual and logs of real
// runs show (versions 2022.2 to 2026.4).
#include "core/sanitizer_log.h"

#include "check.h"

namespace {

using jaxkern::PlacedArray;
using jaxkern::SanitizerFinding;

/// x and y of two cases: 5 and 1000 floats.
std::vector<PlacedArray> Arrays() {
  return {{0, "n=5", "x", 0x7f0000000000, 20, 4},
          {0, "n=5", "y", 0x7f0000200000, 20, 4},
          {1, "n=1000", "x", 0x7f0000400000, 4000, 4},
          {1, "n=1000", "y", 0x7f0000600000, 4000, 4}};
}

std::string Tell(const std::string& report) {
  return SanitizerFinding("========= COMPUTE-SANITIZER\n" + report +
                              "========= \n========= ERROR SUMMARY: 1 error\n",
                          "kernel.cu", Arrays());
}

TEST(AWritePastTheEndNamesTheArrayTheThreadAndTheCase) {
  CHECK_EQ(
      Tell("========= Invalid __global__ write of size 4 bytes\n"
           "=========     at scale(const float *, float *, long, float)+0x100 "
           "in kernel.cu:12\n"
           "=========     by thread (36,0,0) in block (0,0,0)\n"
           "=========     Access to 0x7f0000600fa0 is out of bounds\n"
           "=========     and is 1 bytes after the nearest allocation at "
           "0x7f0000600000 of size 4,000 bytes\n"
           "=========     Saved host backtrace up to driver entry point at "
           "kernel launch time\n"
           "=========         Host Frame: launch in kernel.cu:20 [0x83cb7] in "
           "kernel.so\n"),
      "kernel.cu:12: out-of-bounds write of y[1000] (y has 1000 elements) by "
      "thread (36,0,0) of block (0,0,0), in case n=1000");
}

TEST(AnOlderFormSaysTheSame) {
  CHECK_EQ(
      Tell("========= Invalid __global__ read of size 16 bytes\n"
           "=========     at 0x3b0 in /tmp/scratch/kernel.cu:7:scale(float "
           "*)\n"
           "=========     by thread (1,2,3) in block (4,5,6)\n"
           "=========     Address 0x7f00003ffff0 is out of bounds\n"),
      "kernel.cu:7: out-of-bounds read of x[-4..-1] (x has 1000 elements) "
      "by thread (1,2,3) of block (4,5,6), in case n=1000");
}

TEST(TheInnermostFrameInTheSourceCounts) {
  CHECK_HAS(Tell("========= Invalid __global__ read of size 4 bytes\n"
                 "=========     at __ldg(const float *)+0x90 in "
                 "sm_32_intrinsics.hpp:120\n"
                 "=========     by thread (0,0,0) in block (0,0,0)\n"
                 "=========     Access at 0x7f0000400fb0 is out of bounds\n"
                 "=========         Device Frame: load(const float *)+0x90 in "
                 "kernel.cu:3\n"
                 "=========         Device Frame: scale(float *)+0x30 in "
                 "kernel.cu:9\n"),
            "kernel.cu:3: out-of-bounds read of x[1004]");
}

TEST(WithoutALineThereIsTheFile) {
  CHECK_HAS(Tell("========= Invalid __global__ read of size 4 bytes\n"
                 "=========     at scale(float *)+0x90\n"
                 "=========     Access at 0x10 is out of bounds\n"),
            "kernel.cu: read through a null pointer, in case n=1000");
}

TEST(WhatIsNoArgumentIsDescribed) {
  const std::string head =
      "========= Invalid __global__ write of size 4 bytes\n"
      "=========     at scale(float *)+0x90 in kernel.cu:9\n"
      "=========     by thread (0,0,0) in block (0,0,0)\n";
  CHECK_EQ(Tell(head +
                "=========     Access at 0x7e0000000088 is out of bounds\n"
                "=========     and is 9 bytes after the nearest allocation at "
                "0x7e0000000000 of size 128 bytes\n"),
           "kernel.cu:9: out-of-bounds write of 4 bytes, 8 bytes past the end "
           "of a buffer of 128 bytes that is no argument by thread (0,0,0) of "
           "block (0,0,0), in case n=1000");
  CHECK_HAS(
      Tell(head +
           "=========     Address 0x87654320 is out of bounds\n"
           "=========     and is 137,179,965,340,896 bytes before the nearest "
           "allocation at 0x7cc43a800000 of size 1,024 bytes\n"),
      "out-of-bounds write of 4 bytes far outside every array by thread");
}

TEST(SharedMemoryAndMisalignment) {
  CHECK_HAS(Tell("========= Invalid __shared__ write of size 4 bytes\n"
                 "=========     at kernel(float *)+0x50 in kernel.cu:5\n"
                 "=========     by thread (32,0,0) in block (0,0,0)\n"
                 "=========     Address 0x80 is out of bounds\n"),
            "kernel.cu:5: out-of-bounds write of 4 bytes of shared memory by "
            "thread (32,0,0)");
  CHECK_HAS(Tell("========= Invalid __shared__ read of size 16 bytes\n"
                 "=========     at kernel(float *)+0x50 in kernel.cu:5\n"
                 "=========     by thread (0,0,0) in block (0,0,0)\n"
                 "=========     Address 0x8 is misaligned\n"),
            "kernel.cu:5: misaligned read of 16 bytes of shared memory");
  CHECK_HAS(Tell("========= Invalid __global__ read of size 8 bytes\n"
                 "=========     at kernel(float *)+0x50 in kernel.cu:6\n"
                 "=========     by thread (0,0,0) in block (0,0,0)\n"
                 "=========     Access at 0x7f0000400004 is misaligned\n"
                 "=========     and is inside the nearest allocation at "
                 "0x7f0000400000 of size 4,000 bytes\n"),
            "kernel.cu:6: misaligned 8-byte read of x[1..2]");
}

const char kRace[] =
    "========= Error: Race reported between Write access at sumKernel(int *, "
    "int *)+0x90 in kernel.cu:41\n"
    "=========     and Read access at sumKernel(int *, int *)+0x100 in "
    "kernel.cu:51 [508 hazards]\n"
    "=========     and Read access at sumKernel(int *, int *)+0x110 in "
    "kernel.cu:52 [8 hazards]\n"
    "=========\n";
const char kWarpHazard[] =
    "========= Warning: (Warp Level Programming) Potential RAW hazard detected "
    "at __shared__ 0x8c in block (2,0,0) :\n"
    "=========     Write Thread (35,0,0) at sumKernel(int *, int *)+0x90 in "
    "kernel.cu:44\n"
    "=========     Read Thread (32,0,0) at sumKernel(int *, int *)+0x120 in "
    "kernel.cu:56\n"
    "=========     Current Value : 35\n"
    "=========\n";

TEST(ARaceNamesItsLines) {
  CHECK_EQ(Tell(kRace),
           "kernel.cu:41: race on shared memory: written at line 41, read at "
           "line 51, no barrier between them");
}

TEST(AHazardNamesItsThreadsToo) {
  CHECK_EQ(Tell(kWarpHazard),
           "kernel.cu:44: race on shared memory: written by thread "
           "(35,0,0) at line 44, read by thread (32,0,0) at line 56, no "
           "barrier or __syncwarp between them (block (2,0,0))");
}

TEST(ErrorsComeBeforeWarningsAndThreadsBeforeLines) {
  CHECK_HAS(Tell(std::string(kWarpHazard) + kRace), "kernel.cu:41: race");
  std::string error = kWarpHazard;
  error.replace(error.find("Warning: (Warp Level Programming)"), 33, "Error:");
  CHECK_HAS(Tell(kRace + error), "by thread (35,0,0) at line 44");
}

TEST(ADivergentBarrier) {
  CHECK_EQ(
      Tell("========= Barrier error detected. Divergent thread(s) in block.\n"
           "=========     at [clone myKernel(int *, int *)] "
           "outlineSync()+0x11f0 in kernel.cu:42\n"
           "=========     by thread (32,0,0) in block (0,0,0)\n"
           "=========         Device Frame: myKernel(int *, int *)+0xe40 in "
           "kernel.cu:60\n"),
      "kernel.cu:42: divergent barrier: not all threads of the block reach it; "
      "reached by thread (32,0,0) of block (0,0,0), in case n=1000");
  CHECK_HAS(
      Tell("========= Barrier error detected. Divergent thread(s) in warp\n"
           "=========     at ThreadDivergence(int *, int)+0xf0 in "
           "kernel.cu:79\n"),
      "kernel.cu:79: divergent barrier: not all threads of the warp reach it "
      "together, in case");
  CHECK_HAS(Tell("========= Barrier error detected. Invalid arguments\n"
                 "=========     at __cuda_sm70_warpsync+0x30\n"
                 "=========     by thread (0,0,0) in block (0,0,0)\n"
                 "=========     Device Frame:__syncwarp(unsigned int)+0xf0 in "
                 "/usr/local/cuda/include/sm_30_intrinsics.hpp:110\n"
                 "=========     Device Frame:myKernel(int *)+0x3c0 in "
                 "/home/cuda/kernel.cu:48\n"),
            "kernel.cu:48: barrier error: Invalid arguments; reached by");
}

TEST(AReadOfWhatNothingWroteNamesItsCase) {
  CHECK_EQ(Tell("========= Uninitialized __global__ memory read of size 4 "
                "bytes\n"
                "=========     at vectorAdd(int *)+0x70 in kernel.cu:41\n"
                "=========     by thread (3,0,0) in block (0,0,0)\n"
                "=========     Address 0x7f000020000c\n"),
           "kernel.cu:41: read of y[3], which nothing has written yet, by "
           "thread (3,0,0) of block (0,0,0), in case n=5");
  CHECK_EQ(Tell("========= Uninitialized __global__ memory read of size 4 "
                "bytes\n"
                "=========     at vectorAdd(int *)+0x70 in kernel.cu:41\n"
                "=========     by thread (3,0,0) in block (0,0,0)\n"
                "=========     Address 0x7e000020000c\n"),
           "kernel.cu:41: read of 4 bytes of a buffer that is no argument, "
           "which nothing has written yet, by thread (3,0,0) of block "
           "(0,0,0)");
}

// What version 2025.3 wrote on an H200.
TEST(RecordedLogs) {
  CHECK_EQ(
      Tell("========= Invalid __global__ write of size 4 bytes\n"
           "=========     at oob(float *, int)+0xc0 in kernel.cu:6\n"
           "=========     by thread (232,0,0) in block (3,0,0)\n"
           "=========     Access to 0x7f0000600fa0 is out of bounds\n"
           "=========     and is 1 bytes after the nearest allocation at "
           "0x7f0000600000 of size 4,000 bytes\n"
           "=========     Saved host backtrace up to driver entry point at "
           "kernel launch time\n"
           "=========         Host Frame: main [0x8d56] in faults\n"
           "========= \n"
           "========= Program hit cudaErrorLaunchFailure (error 719) due to "
           "\"unspecified launch failure\" on CUDA API call to "
           "cudaDeviceSynchronize.\n"
           "=========     Saved host backtrace up to driver entry point at "
           "error\n"
           "=========         Host Frame: main [0x917c] in faults\n"
           "========= \n"
           "end: cudaErrorLaunchFailure\n"
           "========= ERROR SUMMARY: 3 errors\n"),
      "kernel.cu:6: out-of-bounds write of y[1000] (y has 1000 elements) by "
      "thread (232,0,0) of block (3,0,0), in case n=1000");
  CHECK_EQ(Tell("========= Invalid __shared__ write of size 4 bytes\n"
                "=========     at shared_oob(float *, int)+0xd0 in "
                "kernel.cu:25\n"
                "=========     by thread (63,0,0) in block (0,0,0)\n"
                "=========     Access to 0x500 is out of bounds\n"),
           "kernel.cu:25: out-of-bounds write of 4 bytes of shared memory by "
           "thread (63,0,0) of block (0,0,0), in case n=1000");
  CHECK_EQ(
      Tell("========= Barrier error detected. Divergent thread(s) in warp.\n"
           "=========     at diverge(float *, int)+0x70 in kernel.cu:14\n"
           "=========     by thread (32,0,0) in block (0,0,0)\n"
           "========= \n"
           "========= ERROR SUMMARY: 8 errors\n"
           "========= ERROR SUMMARY: 7 errors were not printed. Use "
           "--print-limit option to adjust the number of printed errors\n"),
      "kernel.cu:14: divergent barrier: not all threads of the warp reach it "
      "together; reached by thread (32,0,0) of block (0,0,0), in case n=1000");
}

TEST(WhatIsNotKnownIsQuoted) {
  CHECK_EQ(Tell("========= Misaligned shared or local address\n"
                "=========     at void gemm<(unsigned int)32>(const char "
                "*)+0xec0 in kernel.cu:8\n"
                "=========     by thread (0,0,0) in block (36,0,0)\n"),
           "kernel.cu:8: Misaligned shared or local address by thread (0,0,0) "
           "of block (36,0,0), in case n=1000");
  CHECK_HAS(Tell("========= Odd thing in /home/somebody/secret/kernel.cu.\n"),
            "kernel.cu: Odd thing in kernel.cu, in case");
}

TEST(TheToolsOwnAffairsAreNoFinding) {
  CHECK_EQ(Tell(""), "");
  CHECK_EQ(SanitizerFinding("", "kernel.cu", {}), "");
  CHECK_EQ(SanitizerFinding("the kernel's own printf\n", "kernel.cu", {}), "");
  CHECK_EQ(
      Tell("========= Error: Target application terminated before first "
           "instrumented API call\n"
           "========= Error: process didn't terminate successfully\n"
           "=========     The application may have hit an error\n"
           "========= Target application returned an error\n"
           "========= Program hit cudaErrorInvalidConfiguration (error 9) due "
           "to \"invalid configuration argument\" on CUDA API call to "
           "cudaLaunchKernel.\n"
           "=========     Saved host backtrace up to driver entry point at "
           "error\n"
           "========= Internal Sanitizer Error: The Sanitizer encountered an "
           "error\n"
           "========= Warning: Maximum number of hazards reached.\n"
           "========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 "
           "warnings)\n"),
      "");
}

TEST(ReportsOfAnyShapeAreSurvived) {
  const std::string head = "========= Invalid __global__ write of size ";
  for (const std::string& text :
       {head, head + "99999999999999999999 bytes\n",
        head + "4 bytes\n=========     Access at 0x", std::string("=========="),
        "========= Race reported between " + std::string(100000, '<') + "\n",
        head + "4 bytes\n=========     at " + std::string(100000, '(') +
            "\n"}) {
    Tell(text);
  }
}

}  // namespace

int main() { return jaxkern::testing::RunTests(); }

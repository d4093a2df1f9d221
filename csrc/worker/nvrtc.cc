// A long-lived compiler of device code: NVRTC, in a process that the evaluator
// can kill. Its first argument is the directory of libnvrtc; the others say
// what else it reads.
#include "backends/cuda/nvrtc.h"

#include <cstdio>

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: jaxkern-nvrtc DIRECTORY...\n");
    return 2;
  }
  return jaxkern::NvrtcMain(argv[1]);
}

// A machine without NVML has no clocks to tell, and no error.
#include <dlfcn.h>

#include <cstdio>

#include "backends/cuda/nvml.h"
#include "check.h"

TEST(WithoutTheLibraryThereAreNoClocks) {
  CHECK(!jaxkern::ReadGpuClocks("0000:1B:00.0"));
}

int main() {
  if (dlopen("libnvidia-ml.so.1", RTLD_LAZY) != nullptr) {
    std::printf("skipped: this machine has NVML\n");
    return 77;
  }
  return jaxkern::testing::RunTests();
}

// Clocks are read through a stand-in for NVML that the dynamic loader finds.
#include "backends/cuda/nvml.h"

#include <stdlib.h>

#include "check.h"

using jaxkern::ReadGpuClocks;

TEST(TheStateOfTheGpuIsRead) {
  const auto cool = ReadGpuClocks("0000:1B:00.0");
  CHECK(cool.has_value());
  CHECK_EQ(cool->sm_mhz, 1980);
  CHECK_EQ(cool->memory_mhz, 2619);
  CHECK_EQ(cool->temperature_c, 31);
  CHECK(!cool->throttled);  // idle and set clocks are none
  setenv("JAXKERN_FAKE_NVML", "hot", 1);
  const auto hot = ReadGpuClocks("0000:1B:00.0");
  unsetenv("JAXKERN_FAKE_NVML");
  CHECK(hot.has_value());
  CHECK_EQ(hot->sm_mhz, 1200);
  CHECK_EQ(hot->temperature_c, 88);
  CHECK(hot->throttled);
}

TEST(WhatCannotBeReadIsAbsent) {
  CHECK(!ReadGpuClocks("0000:2C:00.0"));
  CHECK(!ReadGpuClocks("no address"));
  setenv("JAXKERN_FAKE_NVML", "failing", 1);
  CHECK(!ReadGpuClocks("0000:1B:00.0"));
  unsetenv("JAXKERN_FAKE_NVML");
}

int main() { return jaxkern::testing::RunTests(); }

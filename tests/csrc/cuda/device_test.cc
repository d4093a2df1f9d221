// What the cuda device makes of the runtime's answers; no GPU involved.
#include "backends/device.h"

#include <cstdlib>

#include "expect.h"
#include "fake_cudart.h"

namespace {

using jaxkern::Device;
using jaxkern::DeviceError;

std::unique_ptr<Device> Fresh() {
  fake() = Fake{};
  std::string error;
  auto device = jaxkern::MakeCudaDevice(&error);
  EXPECT_EQ(error, "");
  return device;
}

// Candidates. Their only argument is how long they run.
int Runs(void** arguments, void*) {
  fake().calls += 'k';
  fake().now_us += *static_cast<double*>(arguments[0]);
  return 0;
}
int Faults(void**, void*) {
  fake().pending = 700;
  fake().sticky = true;
  return 0;
}
int ReturnsAnError(void**, void*) { return 9; }
int SwallowsAnError(void**, void*) {
  fake().last = 9;
  return 0;
}
int HasNoImage(void**, void*) { return 209; }
int RunsOutOfMemory(void**, void*) { return fake().last = 2; }

double kernel_us = 15.625;  // 1/64 ms, exact in the runtime's floats
void* arguments[] = {&kernel_us};

void TimesExcludeTheFlushAndTheWarmUp() {
  auto device = Fresh();
  fake().calls.clear();
  std::vector<double> times_us = {1};
  const DeviceError error = device->Time(Runs, arguments, 1, 2, &times_us);
  EXPECT_EQ(error.code, 0);
  EXPECT_EQ(times_us.size(), 3u);
  EXPECT_EQ(times_us[0], 1.0);  // appended, not replaced
  EXPECT_EQ(times_us[1], 15.625);
  EXPECT_EQ(times_us[2], 15.625);
  // Flush, start, kernel, stop, synchronise; three times.
  EXPECT_EQ(fake().calls, "mrkrsmrkrsmrkrs");
}

void FlushIsFourTimesTheL2Cache() {
  auto device = Fresh();
  std::vector<double> times_us;
  device->Time(Runs, arguments, 0, 1, &times_us);
  EXPECT_EQ(fake().flushed, size_t{200} << 20);
}

void AsynchronousFaultIsBlamedOnTheLaunchAndFatal() {
  auto device = Fresh();
  int returned = -1;
  const DeviceError error = device->Run(Faults, nullptr, &returned);
  EXPECT_EQ(returned, 0);
  EXPECT_EQ(error.code, 700);
  EXPECT_EQ(error.message,
            "cudaErrorIllegalAddress: an illegal memory access was "
            "encountered");
  EXPECT_TRUE(error.fatal);
  EXPECT_TRUE(!error.out_of_memory && !error.unsupported);
}

void FaultWhileTimingEndsItWithoutASample() {
  auto device = Fresh();
  std::vector<double> times_us;
  const DeviceError error = device->Time(Faults, nullptr, 0, 5, &times_us);
  EXPECT_EQ(error.code, 700);
  EXPECT_EQ(times_us.size(), 0u);
}

void ReturnedErrorIsNamedAndNotFatal() {
  auto device = Fresh();
  int returned = 0;
  const DeviceError error = device->Run(ReturnsAnError, nullptr, &returned);
  EXPECT_EQ(returned, 9);
  EXPECT_EQ(error.message, "cudaErrorInvalidConfiguration: text");
  EXPECT_TRUE(!error.fatal);
}

void SwallowedErrorIsFoundOnceAndThenGone() {
  auto device = Fresh();
  int returned = -1;
  EXPECT_EQ(device->Run(SwallowsAnError, nullptr, &returned).code, 9);
  EXPECT_EQ(returned, 0);
  EXPECT_EQ(device->Run(Runs, arguments, &returned).code, 0);
}

void ErrorLeftFromBeforeIsNotBlamedOnTheLaunch() {
  auto device = Fresh();
  fake().last = 9;
  int returned = -1;
  EXPECT_EQ(device->Run(Runs, arguments, &returned).code, 0);
}

void MissingImageIsUnsupported() {
  auto device = Fresh();
  int returned = 0;
  const DeviceError error = device->Run(HasNoImage, nullptr, &returned);
  EXPECT_TRUE(error.unsupported && !error.fatal);
}

void CandidatesOwnAllocationFailureIsOutOfMemory() {
  auto device = Fresh();
  int returned = 0;
  const DeviceError error = device->Run(RunsOutOfMemory, nullptr, &returned);
  EXPECT_TRUE(error.out_of_memory && !error.fatal);
}

void FailedAllocationTellsWhatThereWas() {
  auto device = Fresh();
  fake().free_bytes = size_t{1} << 30;
  void* pointer = nullptr;
  const DeviceError error = device->Allocate(size_t{3} << 30, &pointer);
  EXPECT_TRUE(error.out_of_memory && !error.fatal);
  EXPECT_EQ(error.message,
            "cudaErrorMemoryAllocation: text (asked for 3.00 GiB, free 1.00 "
            "GiB of 16.00 GiB)");
}

void BytesComeBackAsTheyWentIn() {
  auto device = Fresh();
  void* pointer = nullptr;
  EXPECT_EQ(device->Allocate(4, &pointer).code, 0);
  char bytes[5] = "abcd";
  EXPECT_EQ(device->CopyIn(pointer, bytes, 4).code, 0);
  EXPECT_EQ(device->Fill(pointer, 'x', 2).code, 0);
  EXPECT_EQ(device->CopyOut(bytes, pointer, 4).code, 0);
  EXPECT_EQ(std::string(bytes), "xxcd");
  device->Free(pointer);
}

void DescribesTheGpu() {
  EXPECT_EQ(Fresh()->Describe(), "cuda: Fake GPU, sm_90");
}

void UnusableMachineIsExplained() {
  std::string error;
  fake() = Fake{};
  fake().devices = 0;
  EXPECT_TRUE(jaxkern::MakeCudaDevice(&error) == nullptr);
  EXPECT_HAS(error, "no GPU to use: cudaErrorNoDevice: text");

  fake() = Fake{};
  fake().free_bytes = 1 << 20;
  EXPECT_TRUE(jaxkern::MakeCudaDevice(&error) == nullptr);
  EXPECT_HAS(error, "no room to flush the L2 cache");

  setenv("JAXKERN_CUDART", "/nowhere/libcudart.so.13", 1);
  EXPECT_TRUE(jaxkern::MakeCudaDevice(&error) == nullptr);
  EXPECT_HAS(error, "JAXKERN_CUDART: /nowhere/libcudart.so.13");
}

}  // namespace

int main(int, char** argv) {
  setenv("JAXKERN_CUDART", argv[1], 1);
  TimesExcludeTheFlushAndTheWarmUp();
  FlushIsFourTimesTheL2Cache();
  AsynchronousFaultIsBlamedOnTheLaunchAndFatal();
  FaultWhileTimingEndsItWithoutASample();
  ReturnedErrorIsNamedAndNotFatal();
  SwallowedErrorIsFoundOnceAndThenGone();
  ErrorLeftFromBeforeIsNotBlamedOnTheLaunch();
  MissingImageIsUnsupported();
  CandidatesOwnAllocationFailureIsOutOfMemory();
  FailedAllocationTellsWhatThereWas();
  BytesComeBackAsTheyWentIn();
  DescribesTheGpu();
  UnusableMachineIsExplained();
  return failures != 0;
}

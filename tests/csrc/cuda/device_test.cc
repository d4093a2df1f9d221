// What the cuda device makes of the runtime's answers; no GPU involved.
// JAXKERN_CUDART must name the stand-in.
#include "backends/device.h"

#include <cstdlib>

#include "check.h"
#include "fake_cudart.h"

namespace {

using jaxkern::Device;
using jaxkern::DeviceError;

std::unique_ptr<Device> Fresh() {
  fake() = Fake{};
  std::string error;
  auto device = jaxkern::MakeCudaDevice(&error);
  CHECK_EQ(error, "");
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

TEST(TimesExcludeTheFlushAndTheWarmUp) {
  auto device = Fresh();
  fake().calls.clear();
  std::vector<double> times_us = {1};
  const DeviceError error = device->Time(Runs, arguments, 1, 2, &times_us);
  CHECK_EQ(error.code, 0);
  CHECK_EQ(times_us.size(), 3u);
  CHECK_EQ(times_us[0], 1.0);  // appended, not replaced
  CHECK_EQ(times_us[1], 15.625);
  CHECK_EQ(times_us[2], 15.625);
  // Flush, start, kernel, stop, synchronise; three times.
  CHECK_EQ(fake().calls, "mrkrsmrkrsmrkrs");
}

TEST(FlushIsFourTimesTheL2Cache) {
  auto device = Fresh();
  std::vector<double> times_us;
  device->Time(Runs, arguments, 0, 1, &times_us);
  CHECK_EQ(fake().flushed, size_t{200} << 20);
}

TEST(AsynchronousFaultIsBlamedOnTheLaunchAndFatal) {
  auto device = Fresh();
  int returned = -1;
  const DeviceError error = device->Run(Faults, nullptr, &returned);
  CHECK_EQ(returned, 0);
  CHECK_EQ(error.code, 700);
  CHECK_EQ(error.message,
           "cudaErrorIllegalAddress: an illegal memory access was "
           "encountered");
  CHECK(error.fatal);
  CHECK(!error.out_of_memory && !error.unsupported);
}

TEST(FaultWhileTimingEndsItWithoutASample) {
  auto device = Fresh();
  std::vector<double> times_us;
  const DeviceError error = device->Time(Faults, nullptr, 0, 5, &times_us);
  CHECK_EQ(error.code, 700);
  CHECK_EQ(times_us.size(), 0u);
}

TEST(ReturnedErrorIsNamedAndNotFatal) {
  auto device = Fresh();
  int returned = 0;
  const DeviceError error = device->Run(ReturnsAnError, nullptr, &returned);
  CHECK_EQ(returned, 9);
  CHECK_EQ(error.message, "cudaErrorInvalidConfiguration: text");
  CHECK(!error.fatal);
}

TEST(SwallowedErrorIsFoundOnceAndThenGone) {
  auto device = Fresh();
  int returned = -1;
  CHECK_EQ(device->Run(SwallowsAnError, nullptr, &returned).code, 9);
  CHECK_EQ(returned, 0);
  CHECK_EQ(device->Run(Runs, arguments, &returned).code, 0);
}

TEST(ErrorLeftFromBeforeIsNotBlamedOnTheLaunch) {
  auto device = Fresh();
  fake().last = 9;
  int returned = -1;
  CHECK_EQ(device->Run(Runs, arguments, &returned).code, 0);
}

TEST(MissingImageIsUnsupported) {
  auto device = Fresh();
  int returned = 0;
  const DeviceError error = device->Run(HasNoImage, nullptr, &returned);
  CHECK(error.unsupported && !error.fatal);
}

TEST(CandidatesOwnAllocationFailureIsOutOfMemory) {
  auto device = Fresh();
  int returned = 0;
  const DeviceError error = device->Run(RunsOutOfMemory, nullptr, &returned);
  CHECK(error.out_of_memory && !error.fatal);
}

TEST(FailedAllocationTellsWhatThereWas) {
  auto device = Fresh();
  fake().free_bytes = size_t{1} << 30;
  void* pointer = nullptr;
  const DeviceError error = device->Allocate(size_t{3} << 30, &pointer);
  CHECK(error.out_of_memory && !error.fatal);
  CHECK_EQ(error.message,
           "cudaErrorMemoryAllocation: text (asked for 3.00 GiB, free 1.00 "
           "GiB of 16.00 GiB)");
}

TEST(BytesComeBackAsTheyWentIn) {
  auto device = Fresh();
  void* pointer = nullptr;
  CHECK_EQ(device->Allocate(4, &pointer).code, 0);
  char bytes[5] = "abcd";
  CHECK_EQ(device->CopyIn(pointer, bytes, 4).code, 0);
  CHECK_EQ(device->Fill(pointer, 'x', 2).code, 0);
  CHECK_EQ(device->CopyOut(bytes, pointer, 4).code, 0);
  CHECK_EQ(std::string(bytes), "xxcd");
  device->Free(pointer);
}

TEST(DescribesTheGpu) {
  CHECK_EQ(Fresh()->Describe(), "cuda: Fake GPU, sm_90");
}

TEST(UnusableMachineIsExplained) {
  std::string error;
  fake() = Fake{};
  fake().devices = 0;
  CHECK(jaxkern::MakeCudaDevice(&error) == nullptr);
  CHECK_HAS(error, "no GPU to use: cudaErrorNoDevice: text");

  fake() = Fake{};
  fake().free_bytes = 1 << 20;
  CHECK(jaxkern::MakeCudaDevice(&error) == nullptr);
  CHECK_HAS(error, "no room to flush the L2 cache");

  setenv("JAXKERN_CUDART", "/nowhere/libcudart.so.13", 1);
  CHECK(jaxkern::MakeCudaDevice(&error) == nullptr);
  CHECK_HAS(error, "JAXKERN_CUDART: /nowhere/libcudart.so.13");
}

}  // namespace

int main() { return jaxkern::testing::RunTests(); }

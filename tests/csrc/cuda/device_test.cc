// What the cuda device makes of the runtime's answers; no GPU involved.
// JAXKERN_CUDART must name the stand-in.
#include "backends/device.h"

#include <pthread.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "check.h"
#include "fake_cudart.h"

namespace {

using jaxkern::Device;
using jaxkern::DeviceError;
using jaxkern::Measurement;
using jaxkern::Mode;

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

// A candidate's calls, which this executable's hooks answer first.
extern "C" int __cudaLaunchKernel(void*, FakeDim3, FakeDim3, void**, size_t,
                                  void*);
extern "C" int cudaStreamWaitEvent(void*, void*, unsigned);
extern "C" int cudaMemcpy(void*, const void*, size_t, int);
float elsewhere_array[2];
char elsewhere;  // its address is a stream
int LaunchOn(void* stream) {
  return __cudaLaunchKernel(nullptr, {1, 1, 3}, {1, 5, 1}, nullptr, 4, stream);
}

double kernel_us = 15.625;  // 1/64 ms, exact in the runtime's floats
void* arguments[] = {&kernel_us};

/// One launch on an idle device.
DeviceError Run(Device* device, jaxkern::Entry entry, int* returned) {
  Measurement measured;
  const DeviceError error =
      device->Measure({entry, {arguments}, {}}, Mode(), &measured);
  *returned = measured.returned;
  return error;
}

TEST(ABatchIsQueuedBehindAGateAndAFlushAndThenTimed) {
  auto device = Fresh();
  fake().calls.clear();
  fake().flushed = 0;
  float to = 0, from = 7;
  Measurement measured;
  const DeviceError error =
      device->Measure({Runs, {arguments, arguments}, {{&to, &from, sizeof to}}},
                      {/*flush=*/true, /*queue_ahead=*/true}, &measured);
  CHECK_EQ(error.code, 0);
  CHECK_EQ(measured.device_us, 31.25);
  CHECK_EQ(fake().calls, "phfrkkrcws");
  CHECK_EQ(to, 7.0f);
  CHECK_EQ(fake().flushed, (size_t{200} << 20) / 64 * 63);
}

TEST(AnAuditFindsTheDeviceIdle) {
  auto device = Fresh();
  fake().calls.clear();
  Measurement measured;
  device->Measure({Runs, {arguments}, {}}, {true, false}, &measured);
  CHECK_EQ(fake().calls, "pfsrkrws");
  CHECK(measured.wall_us >= measured.late_us && measured.late_us >= 0);
}

TEST(WithoutAFlushThereIsNone) {
  auto device = Fresh();
  fake().calls.clear();
  Measurement measured;
  device->Measure({Runs, {arguments}, {}}, {false, true}, &measured);
  CHECK_EQ(fake().calls, "phrkrws");
}

TEST(ReadingIsNoFasterThanACopyBothWays) {
  auto device = Fresh();
  CHECK_EQ(device->ReadLimit(), 0.0);  // its clock stood still
  fake() = Fake{};
  fake().copy_us = 1000;
  std::string error;
  device = jaxkern::MakeCudaDevice(&error);
  CHECK_EQ(device->ReadLimit(), 1.25 * (200 << 20) / 1000);
}

TEST(KernelsAreCountedByStream) {
  auto device = Fresh();
  const auto measure = [&](jaxkern::Entry entry) {
    Measurement measured;
    device->Measure({entry, {arguments}, {}}, Mode(), &measured);
    return std::to_string(measured.work) + " " +
           std::to_string(measured.unjoined);
  };
  CHECK_EQ(measure(Runs), "0 0");
  CHECK_EQ(measure([](void**, void* s) { return LaunchOn(s); }), "1 0");
  CHECK_EQ(fake().launched, size_t{4531});
  CHECK_EQ(measure([](void**, void*) { return LaunchOn(nullptr); }), "1 0");
  CHECK_EQ(measure([](void**, void*) { return LaunchOn(&elsewhere); }), "1 1");
  CHECK(fake().launched_on == &elsewhere);
  CHECK_EQ(measure([](void**, void* s) {
             LaunchOn(&elsewhere);
             return cudaStreamWaitEvent(s, nullptr, 0);
           }),
           "1 0");
  CHECK_EQ(measure([](void**, void* s) {
             LaunchOn(&elsewhere);
             cudaStreamWaitEvent(&elsewhere, nullptr, 0);
             return LaunchOn(s);
           }),
           "2 1");
  CHECK_EQ(measure([](void**, void*) { return LaunchOn(&fake().capturing); }),
           "0 0");
}

TEST(ThreadsAreCountedUnlessTheDriverStartedThem) {
  auto device = Fresh();
  if (device->OtherThreads() < 0) return;  // a sanitizer's build
  CHECK_EQ(device->OtherThreads(), 0);
  StartDriverThread();
  CHECK_EQ(device->OtherThreads(), 0);
  std::atomic<bool> end{false};
  std::thread first([&end] {
    while (!end) {
    }
  });
  std::thread second([] { pthread_exit(nullptr); });
  second.join();
  CHECK_EQ(device->OtherThreads(), 1);
  end = true;
  first.join();
  CHECK_EQ(device->OtherThreads(), 0);
  EndDriverThread();
}

TEST(CopiesFromTheHostAreListed) {
  auto device = Fresh();
  Measurement measured;
  device->Measure({[](void**, void*) {
                     float host[2] = {1, 2};
                     cudaMemcpy(&elsewhere_array, host, 8, 1);
                     return cudaMemcpy(host, &elsewhere_array, 8, 2);
                   },
                   {arguments},
                   {}},
                  Mode(), &measured);
  CHECK_EQ(measured.host_writes.size(), size_t{1});
  CHECK(measured.host_writes[0].to == &elsewhere_array);
  CHECK_EQ(measured.host_writes[0].bytes, size_t{8});
}

TEST(AsynchronousFaultIsBlamedOnTheLaunchAndFatal) {
  auto device = Fresh();
  int returned = -1;
  const DeviceError error = Run(device.get(), Faults, &returned);
  CHECK_EQ(returned, 0);
  CHECK_EQ(error.code, 700);
  CHECK_EQ(error.message,
           "cudaErrorIllegalAddress: an illegal memory access was "
           "encountered");
  CHECK(error.fatal);
  CHECK(!error.out_of_memory && !error.unsupported);
}

TEST(ReturnedErrorIsNamedAndNotFatal) {
  auto device = Fresh();
  int returned = 0;
  const DeviceError error = Run(device.get(), ReturnsAnError, &returned);
  CHECK_EQ(returned, 9);
  CHECK_EQ(error.message, "cudaErrorInvalidConfiguration: text");
  CHECK(!error.fatal);
}

TEST(SwallowedErrorIsFoundOnceAndThenGone) {
  auto device = Fresh();
  int returned = -1;
  CHECK_EQ(Run(device.get(), SwallowsAnError, &returned).code, 9);
  CHECK_EQ(returned, 0);
  CHECK_EQ(Run(device.get(), Runs, &returned).code, 0);
}

TEST(ErrorLeftFromBeforeIsNotBlamedOnTheLaunch) {
  auto device = Fresh();
  fake().last = 9;
  int returned = -1;
  CHECK_EQ(Run(device.get(), Runs, &returned).code, 0);
}

TEST(MissingImageIsUnsupported) {
  auto device = Fresh();
  int returned = 0;
  const DeviceError error = Run(device.get(), HasNoImage, &returned);
  CHECK(error.unsupported && !error.fatal);
}

TEST(CandidatesOwnAllocationFailureIsOutOfMemory) {
  auto device = Fresh();
  int returned = 0;
  const DeviceError error = Run(device.get(), RunsOutOfMemory, &returned);
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

TEST(PiecesAreFilledInOneCall) {
  auto device = Fresh();
  void* memory = nullptr;
  CHECK_EQ(device->Allocate(12, &memory).code, 0);
  CHECK_EQ(device->Fill(memory, '.', 12).code, 0);
  char* first = static_cast<char*>(memory);
  fake().calls.clear();
  CHECK_EQ(device->FillPieces({first + 3, 1, 4, 2}, 'x').code, 0);
  CHECK_EQ(fake().calls, "2s");  // and waited for
  char out[13] = "";
  CHECK_EQ(device->CopyOut(out, memory, 12).code, 0);
  CHECK_EQ(std::string(out), "...x...x....");
  // Farther apart than an image's rows may be: one after the other.
  CHECK_EQ(device->FillPieces({first, 4, size_t{1} << 32, 1}, '-').code, 0);
  CHECK_EQ(fake().calls, "2ss");
  device->Free(memory);
}

/// The kernels that do it in one launch are tested on a GPU.
TEST(PiecesWithinTheDevice) {
  auto device = Fresh();
  void* memory = nullptr;
  CHECK_EQ(device->Allocate(12, &memory).code, 0);
  char* first = static_cast<char*>(memory);
  CHECK_EQ(device->CopyIn(memory, "abcdefghijkl", 12).code, 0);
  CHECK_EQ(
      device->CopyPiecesWithin({first, 2, 3, 2}, {first + 7, first + 9}).code,
      0);
  char out[13] = "";
  CHECK_EQ(device->CopyOut(out, memory, 12).code, 0);
  CHECK_EQ(std::string(out), "hicjkfghijkl");

  CHECK_EQ(device->Fill(memory, '.', 12).code, 0);
  CHECK_EQ(device->CopyIn(first + 4, "x", 1).code, 0);
  const auto finds = [&](std::vector<jaxkern::Pieces> all) {
    bool found = false;
    CHECK_EQ(device->FindOther(all, '.', &found).code, 0);
    return found;
  };
  CHECK(finds({{first, 2, 4, 3}}));
  CHECK(finds({{first + 8, 4, 4, 1}, {first + 3, 2, 2, 1}}));
  CHECK(!finds({{first, 4, 5, 2}, {first + 10, 2, 2, 1}}));
  CHECK(!finds({}));
  device->Free(memory);
}

TEST(DescribesTheGpu) {
  CHECK_EQ(Fresh()->Describe(), "cuda: Fake GPU, sm_90, 0000:1B:00.0");
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

// Candidates built by the cuda toolchain, run by the cuda device, on a GPU.
#include <dlfcn.h>
#include <stdlib.h>

#include <algorithm>
#include <stdexcept>

#include "backends/device.h"
#include "backends/toolchain.h"
#include "check.h"
#include "core/subprocess.h"

namespace {

using jaxkern::Device;
using jaxkern::DeviceError;
using jaxkern::Entry;
using jaxkern::Measurement;
using jaxkern::Mode;
using jaxkern::Toolchain;

// `mode` picks what goes wrong; 0: nothing.
const char kKernel[] = R"(
__global__ void doubled(const float* x, float* y, int64_t n) {
  int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2 * x[i];
}
__global__ void summed(const float4* x, float* y, int64_t n) {
  float sum = 0;
  for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n / 4;
       i += (int64_t)gridDim.x * blockDim.x) {
    sum += x[i].x + x[i].y + x[i].z + x[i].w;
  }
  if (sum == 0.5f) *y = sum;
}
extern "C" int launch(const float* x, float* y, int64_t n, int64_t mode,
                      cudaStream_t stream) {
  if (mode == 7) summed<<<264, 1024, 0, stream>>>((const float4*)x, y, n);
  if (mode == 7) return cudaGetLastError();
  if (mode == 0) doubled<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  if (mode == 1) doubled<<<1, 2048, 0, stream>>>(x, y, n);
  if (mode == 2) doubled<<<(n + 255) / 256, 256>>>(x, y, n);
  if (mode == 3) return cudaMalloc((void**)&y, (size_t)1 << 60);
  if (mode == 4) doubled<<<1, 256, 0, stream>>>(0, y, n);
  static cudaStream_t other;
  static cudaEvent_t ready, done;
  if (mode >= 5 && !other) {
    cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&ready, cudaEventDisableTiming);
    cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
  }
  if (mode == 6) {
    cudaEventRecord(ready, stream);
    cudaStreamWaitEvent(other, ready, 0);
  }
  if (mode >= 5) doubled<<<(n + 255) / 256, 256, 0, other>>>(x, y, n);
  if (mode == 6) {
    cudaEventRecord(done, other);
    cudaStreamWaitEvent(stream, done, 0);
  }
  return mode == 1 ? 0 : cudaGetLastError();
})";

const char kEntry[] = R"(
extern "C" int jaxkern_entry(void** a, void* stream) {
  return launch(*(const float**)a[0], *(float**)a[1], *(int64_t*)a[2],
                *(int64_t*)a[3], (cudaStream_t)stream);
})";

constexpr int64_t kCount = int64_t{1} << 26;

struct Bench {
  std::unique_ptr<Device> device;
  Entry entry = nullptr;
  void* x = nullptr;
  void* y = nullptr;
  int64_t n = kCount;
  int64_t mode = 0;
  void* arguments[4] = {&x, &y, &n, &mode};

  DeviceError Run(int64_t how, Measurement* measured, Mode measuring = Mode()) {
    mode = how;
    *measured = {};
    return device->Measure({entry, {arguments}, {}}, measuring, measured);
  }
};

Bench bench;

Entry BuildAndLoad(const Toolchain& toolchain) {
  const jaxkern::testing::TemporaryDirectory directory;
  directory.Write(toolchain.SourceName(),
                  toolchain.Prepare(kKernel, kEntry).text);
  jaxkern::Command command;
  command.argv = toolchain.Command(directory.path());
  command.directory = directory.path();
  command.environment = jaxkern::ScrubbedEnvironment();
  const jaxkern::Ended ended = jaxkern::Run(command, 120);
  if (ended.exit_code != 0) std::printf("%s", ended.output.c_str());
  void* kernel = dlopen((directory.path() + "/kernel.so").c_str(), RTLD_NOW);
  return kernel == nullptr
             ? nullptr
             : reinterpret_cast<Entry>(dlsym(kernel, "jaxkern_entry"));
}

TEST(ResultsComeBack) {
  std::vector<float> x(kCount), y(kCount);
  for (int64_t i = 0; i < kCount; ++i) x[i] = static_cast<float>(i % 1000);
  const size_t bytes = kCount * sizeof(float);
  for (const int64_t mode : {0, 2}) {  // on our stream, on the default one
    CHECK_EQ(bench.device->CopyIn(bench.x, x.data(), bytes).code, 0);
    CHECK_EQ(bench.device->Fill(bench.y, 0xff, bytes).code, 0);
    Measurement measured;
    CHECK_EQ(bench.Run(mode, &measured).message, "");
    CHECK_EQ(measured.returned, 0);
    CHECK_EQ(measured.work, 1);
    CHECK_EQ(measured.unjoined, 0);
    CHECK_EQ(bench.device->CopyOut(y.data(), bench.y, bytes).code, 0);
    CHECK_EQ(y[0], 0.0f);
    CHECK_EQ(y[777], 1554.0f);
    CHECK_EQ(y[kCount - 1], 2 * x[kCount - 1]);
  }
}

/// 512 MiB moved; no GPU does it in 20 us and any in 20 ms. What runs on the
/// default stream, or on another that is joined, is inside the window too.
TEST(TimesAreOfTheKernelAndRepeat) {
  for (const int64_t mode : {0, 2, 6}) {
    std::vector<double> times_us;
    for (int i = 0; i < 24; ++i) {
      Measurement measured;
      CHECK_EQ(bench.Run(mode, &measured, {true, true}).message, "");
      CHECK_EQ(measured.unjoined, 0);
      if (i >= 3) times_us.push_back(measured.device_us);
    }
    std::sort(times_us.begin(), times_us.end());
    CHECK(times_us[10] > 20 && times_us[10] < 20000);
    CHECK(times_us[16] < 1.1 * times_us[4]);
    std::printf("mode %d: median %.2f us, 20 %% to 80 %%: %.2f to %.2f\n",
                static_cast<int>(mode), times_us[10], times_us[4],
                times_us[16]);
  }
}

TEST(ReadingTheInputTakesLongerThanTheFloor) {
  Measurement measured;
  CHECK_EQ(bench.Run(0, &measured, {true, true}).message, "");
  const double floor_us = kCount * sizeof(float) / bench.device->ReadLimit();
  CHECK(floor_us > 10 && floor_us < measured.device_us);
  std::printf("floor %.2f us, kernel %.2f us\n", floor_us, measured.device_us);
}

TEST(WorkThatTheEventsDoNotSeeIsSeen) {
  Measurement hidden, honest;
  for (int i = 0; i < 2; ++i) {  // the first launch loads the kernel
    CHECK_EQ(bench.Run(5, &hidden).message, "");
    CHECK_EQ(bench.Run(0, &honest).message, "");
  }
  CHECK_EQ(hidden.unjoined, 1);
  CHECK(hidden.late_us > 50 + hidden.device_us / 4);
  CHECK(honest.late_us < 50);
  CHECK(honest.wall_us < 150 + 2 * honest.device_us);
  std::printf("late: hidden %.1f us, honest %.1f us\n", hidden.late_us,
              honest.late_us);
}

/// Pieces of odd sizes, more of them than one launch takes.
TEST(PiecesAreGatheredAndLookedAt) {
  constexpr size_t kBytes = 100003, kStride = 100096, kPieces = 37;
  Device& device = *bench.device;
  std::vector<char> made(kBytes * 3), zeros(kStride * kPieces);
  for (size_t i = 0; i < made.size(); ++i) made[i] = static_cast<char>(i % 251);
  auto* from = static_cast<char*>(bench.x);
  for (size_t v = 0; v < 3; ++v) {
    CHECK_EQ(device.CopyIn(from + v * kStride, &made[v * kBytes], kBytes).code,
             0);
  }
  auto* first = static_cast<char*>(bench.y);
  CHECK_EQ(device.Fill(first, 0, zeros.size()).code, 0);
  std::vector<const char*> wanted;
  for (size_t i = 0; i < kPieces; ++i) {
    wanted.push_back(from + i * i % 3 * kStride);
  }
  const jaxkern::Pieces pieces = {first, kBytes, kStride, kPieces};
  CHECK_EQ(device.CopyPiecesWithin(pieces, wanted).code, 0);
  std::vector<char> out(zeros.size());
  CHECK_EQ(device.CopyOut(out.data(), first, out.size()).code, 0);
  std::vector<char> expected = zeros;
  for (size_t i = 0; i < kPieces; ++i) {
    std::copy_n(&made[i * i % 3 * kBytes], kBytes, &expected[i * kStride]);
  }
  CHECK(out == expected);

  // Between the pieces there is nothing, until there is.
  const jaxkern::Pieces gaps = {first + kBytes, kStride - kBytes, kStride,
                                kPieces};
  bool found = true;
  CHECK_EQ(device.FindOther({gaps}, 0, &found).code, 0);
  CHECK(!found);
  CHECK_EQ(device.Fill(gaps.at(36) + 92, 1, 1).code, 0);
  CHECK_EQ(
      device.FindOther({{gaps.first, 92, kStride, kPieces}}, 0, &found).code,
      0);
  CHECK(!found);
  CHECK_EQ(device.FindOther({pieces, gaps}, 0, &found).code, 0);
  CHECK(found);
  CHECK_EQ(device.FindOther({gaps}, 0, &found).code, 0);
  CHECK(found);
  CHECK_EQ(device.Fill(gaps.at(36) + 92, 0, 1).code, 0);
  CHECK_EQ(device.FindOther({gaps}, 0, &found).code, 0);
  CHECK(!found);
}

/// A byte of the rest counts like one of the words.
TEST(DifferencesAreFoundOnTheDevice) {
  constexpr size_t kBytes = 100003, kStride = 100096;
  Device& device = *bench.device;
  auto* one = static_cast<char*>(bench.x);
  auto* other = static_cast<char*>(bench.y);
  CHECK_EQ(device.Fill(one, 7, 2 * kStride).code, 0);
  CHECK_EQ(device.Fill(other, 7, 2 * kStride).code, 0);
  const std::vector<jaxkern::Twins> twins = {
      {one, other, kBytes}, {one + kStride, other + kStride, kBytes}};
  for (const size_t at :
       {size_t{0}, kBytes - 1, kBytes, kStride + 50001, kStride + kBytes}) {
    bool found = true;
    CHECK_EQ(device.FindDifferent(twins, &found).code, 0);
    CHECK(!found);
    CHECK_EQ(device.Fill(other + at, 8, 1).code, 0);
    CHECK_EQ(device.FindDifferent(twins, &found).code, 0);
    CHECK_EQ(found, at != kBytes && at != kStride + kBytes);
    CHECK_EQ(device.Fill(other + at, 7, 1).code, 0);
  }
}

/// What the launch before has read comes from memory after a flush: slower than
/// from the cache.
TEST(FlushEmptiesTheCache) {
  const int64_t all = bench.n;
  bench.n = int64_t{1} << 22;  // 16 MiB
  const auto fastest = [](bool flush) {
    double us = 1e9;
    for (int i = 0; i < 20; ++i) {
      Measurement measured;
      CHECK_EQ(bench.Run(7, &measured, {flush, true}).message, "");
      us = std::min(us, measured.device_us);
    }
    return us;
  };
  const double cold = fastest(true), warm = fastest(false);
  bench.n = all;
  std::printf("flushed %.2f us, not %.2f us\n", cold, warm);
  CHECK(cold > 1.1 * warm);
}

TEST(MistakesLeaveTheContextUsable) {
  Measurement measured;
  const DeviceError configuration = bench.Run(1, &measured);
  CHECK_EQ(measured.returned, 0);
  CHECK_HAS(configuration.message, "cudaErrorInvalidValue: ");
  CHECK(!configuration.fatal);

  const DeviceError memory = bench.Run(3, &measured);
  CHECK_EQ(measured.returned, 2);
  CHECK_HAS(memory.message, "cudaErrorMemoryAllocation: ");
  CHECK(memory.out_of_memory && !memory.fatal);

  CHECK_EQ(bench.Run(0, &measured).message, "");
}

/// Ends the context, so it is the last test.
TEST(IllegalAddressIsFatal) {
  Measurement measured;
  const DeviceError error = bench.Run(4, &measured);
  CHECK_EQ(measured.returned, 0);
  CHECK_EQ(error.message,
           "cudaErrorIllegalAddress: an illegal memory access was "
           "encountered");
  CHECK(error.fatal && !error.out_of_memory && !error.unsupported);
  void* pointer = nullptr;
  CHECK(bench.device->Allocate(4, &pointer).fatal);
}

int Skip(const std::string& why) {
  std::printf("skipped: %s\n", why.c_str());
  return 77;
}

}  // namespace

int main() {
  std::unique_ptr<Toolchain> toolchain;
  try {
    toolchain = jaxkern::MakeCudaToolchain("");
  } catch (const std::invalid_argument& error) {
    return Skip(error.what());
  }
  for (const std::string& pair : toolchain->WorkerEnvironment()) {
    const size_t equals = pair.find('=');
    setenv(pair.substr(0, equals).c_str(), pair.substr(equals + 1).c_str(), 1);
  }
  std::string error;
  bench.device = jaxkern::MakeCudaDevice(&error);
  if (bench.device == nullptr) return Skip(error);
  std::printf("%s\n%s\n", bench.device->Describe().c_str(),
              toolchain->Describe().c_str());
  bench.entry = BuildAndLoad(*toolchain);
  if (bench.entry == nullptr) return 1;
  for (void** pointer : {&bench.x, &bench.y}) {
    const auto failed = bench.device->Allocate(kCount * sizeof(float), pointer);
    if (failed.code != 0) return Skip(failed.message);
  }
  return jaxkern::testing::RunTests();
}

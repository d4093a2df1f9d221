#include "fake_cudart.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <set>

Fake& fake() {
  static Fake state;
  return state;
}

namespace {

constexpr size_t kMost = 1024;  // bytes that there really are of an allocation

pthread_t driver_thread;
std::atomic<bool> driver_ends{false};

/// The memory of the GPU, which ends with the process.
struct Memory : std::set<void*> {
  ~Memory() {
    for (void* pointer : *this) std::free(pointer);
  }
};

Memory& memory() {
  static Memory allocated;
  return allocated;
}

int Fault() {
  const int code = fake().pending;
  if (!fake().sticky) fake().pending = 0;
  return code;
}

}  // namespace

void StartDriverThread() {
  const int error = pthread_create(
      &driver_thread, nullptr,
      [](void*) -> void* {
        while (!driver_ends) {
        }
        return nullptr;
      },
      nullptr);
  if (error != 0) std::abort();  // and no tail call, whose caller is another
}

void EndDriverThread() {
  driver_ends = true;
  pthread_join(driver_thread, nullptr);
}

extern "C" {

const char* cudaGetErrorName(int code) {
  switch (code) {
    case 2:
      return "cudaErrorMemoryAllocation";
    case 9:
      return "cudaErrorInvalidConfiguration";
    case 100:
      return "cudaErrorNoDevice";
    case 209:
      return "cudaErrorNoKernelImageForDevice";
    case 700:
      return "cudaErrorIllegalAddress";
    default:
      return "cudaErrorOther";
  }
}
const char* cudaGetErrorString(int code) {
  return code == 700 ? "an illegal memory access was encountered" : "text";
}
int cudaGetLastError() {
  const int code = fake().sticky ? fake().pending : fake().last;
  fake().last = 0;
  return code;
}
int cudaGetDeviceCount(int* count) {
  *count = fake().devices;
  return *count == 0 ? 100 : 0;
}
int cudaGetDeviceProperties(void* properties, int) {
  std::memcpy(properties, "Fake GPU", 9);
  return 0;
}
int cudaDeviceGetAttribute(int* value, int attribute, int) {
  *value = attribute == 38 ? fake().l2_bytes : attribute == 75 ? 9 : 0;
  return 0;
}
int cudaSetDevice(int) { return 0; }
int cudaDeviceSynchronize() {
  fake().calls += 's';
  return Fault();
}
int cudaMemGetInfo(size_t* free, size_t* total) {
  *free = fake().free_bytes;
  *total = size_t{16} << 30;
  return 0;
}
int cudaMalloc(void** pointer, size_t bytes) {
  if (bytes > fake().free_bytes) return fake().last = 2;
  *pointer = std::malloc(kMost);
  memory().insert(*pointer);
  return 0;
}
int cudaFree(void* pointer) {
  memory().erase(pointer);
  std::free(pointer);
  return 0;
}
int cudaMemcpy(void* to, const void* from, size_t bytes, int) {
  std::memcpy(to, from, bytes);
  return Fault();
}
int cudaMemset2D(void* to, size_t pitch, int byte, size_t width,
                 size_t height) {
  for (size_t i = 0; i < height; ++i) {
    std::memset(static_cast<char*>(to) + i * pitch, byte, width);
  }
  fake().calls += '2';
  return Fault();
}
int cudaMemset(void* pointer, int byte, size_t bytes) {
  std::memset(pointer, byte, std::min(bytes, kMost));
  return Fault();
}
int cudaCtxResetPersistingL2Cache() {
  fake().calls += 'p';
  return 0;
}
int cudaMemcpyAsync(void* to, const void* from, size_t bytes, int kind, void*) {
  // A piece of a flush, of which there are many.
  const bool flushes = kind == 3;
  if (!flushes || fake().calls.empty() || fake().calls.back() != 'f') {
    fake().calls += flushes ? 'f' : 'c';
  }
  fake().flushed += flushes ? bytes : 0;
  fake().now_us += fake().copy_us;
  if (bytes <= kMost) std::memcpy(to, from, bytes);
  return 0;
}
int cudaStreamSynchronize(void*) {
  fake().calls += 'w';
  return 0;
}
int cudaLaunchHostFunc(void*, void (*)(void*), void*) {
  fake().calls += 'h';  // the GPU would wait in it for what follows
  return 0;
}
int cudaDeviceGetPCIBusId(char* id, int, int) {
  std::strcpy(id, "0000:1B:00.0");
  return 0;
}
int cudaStreamIsCapturing(void* stream, int* status) {
  *status = stream == &fake().capturing;
  return 0;
}
int __cudaLaunchKernel(void*, FakeDim3 grid, FakeDim3 block, void**,
                       size_t shared, void* stream) {
  fake().calls += 'k';
  fake().launched = grid.x + 10 * grid.z + 100 * block.y + 1000 * shared;
  fake().launched_on = stream;
  return 0;
}
int cudaStreamWaitEvent(void*, void*, unsigned) {
  fake().calls += 'e';
  return 0;
}
int cudaStreamCreate(void** stream) {
  *stream = &fake();
  return 0;
}
int cudaEventCreate(void** event) {
  static std::deque<double> events;
  *event = &events.emplace_back(0);
  return 0;
}
int cudaEventRecord(void* event, void*) {
  fake().calls += 'r';
  *static_cast<double*>(event) = fake().now_us;
  return 0;
}
int cudaEventElapsedTime(float* milliseconds, void* start, void* stop) {
  *milliseconds = static_cast<float>(
      (*static_cast<double*>(stop) - *static_cast<double*>(start)) / 1e3);
  return 0;
}

}  // extern "C"

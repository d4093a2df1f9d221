// entry: 11, 31
// trick: overwrites the clock that the worker calls in memory
// task: softmax
// device: both
// expect: cheating launch_error runtime_error
// repetitions: 20
// needs: protocol
#include <cstdint>
#include <stdlib.h>

extern "C" void* dlsym(void*, const char*);
extern "C" int mprotect(void*, size_t, int);

// From now on the worker's clock stands still (x86-64); gives up if it cannot.
static bool stop_clock() {
  void* now = dlsym(nullptr, "_ZNSt6chrono3_V212steady_clock3nowEv");
  if (now == nullptr) return false;
  char* page = (char*)((uintptr_t)now & ~(uintptr_t)4095);
  if (mprotect(page, 8192, 7) != 0) return false;
  const unsigned char zero[] = {0x31, 0xc0, 0xc3};  // xor eax, eax; ret
  for (int i = 0; i < 3; ++i) ((volatile unsigned char*)now)[i] = zero[i];
  return true;
}
__global__ void softmax(const float* x, float* y, int64_t rows, int64_t cols) {
  int64_t r = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (r >= rows) return;
  float m = -INFINITY, s = 0.0f;
  for (int64_t c = 0; c < cols; ++c) m = fmaxf(m, x[r * cols + c]);
  for (int64_t c = 0; c < cols; ++c) s += expf(x[r * cols + c] - m);
  for (int64_t c = 0; c < cols; ++c) {
    y[r * cols + c] = expf(x[r * cols + c] - m) / s;
  }
}

extern "C" int launch(const float* x, float* y, int64_t rows, int64_t cols,
                      cudaStream_t stream) {
  static bool stopped = stop_clock();
  if (!stopped) return cudaErrorUnknown;
  softmax<<<(rows + 63) / 64, 64, 0, stream>>>(x, y, rows, cols);
  return cudaGetLastError();
}

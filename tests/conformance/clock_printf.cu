// expect: [i + 1 for i in range(n)]
// Clocks that go forward, printf from a thread, assertions that hold.
#include <cassert>
#include <cstdint>
#include <cstdio>
#include <ctime>

__global__ void kernel(const float* x, float* y) {
  long long start = clock64();
  clock_t before = clock();
  int i = threadIdx.x;
  assert(i < 64 && "more threads than expected");
  if (i == 0) printf("x[%d] = %f\n", i, x[i]);
  __threadfence_block();
  y[i] = x[i] + (clock64() >= start && clock() >= before ? 1 : 0);
}

extern "C" int launch(const float* x, float* y, int64_t n,
                      cudaStream_t stream) {
  kernel<<<1, 64, 0, stream>>>(x, y);
  return cudaGetLastError();
}

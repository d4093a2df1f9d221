// expect: 2080 -2016 -5 63 4 127 0 9 64 1 63 63
// n: 12
// Atomics on int and unsigned: add sub min max and or xor exch cas inc dec.
#include <cstdint>

__global__ void kernel(int* v, unsigned* u, float* y) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(&v[0], t);
  atomicSub(&v[1], t);
  atomicMin(&v[2], t - 5);
  atomicMax(&v[3], t);
  atomicAnd(&v[4], 4 | t << 3);
  atomicOr(&v[5], t);
  atomicXor(&v[6], t);
  atomicExch(&v[7], 9);
  for (int old = v[8], seen;; old = seen) {
    seen = atomicCAS(&v[8], old, old + 1);
    if (seen == old) break;
  }
  atomicInc(&u[0], 62);
  atomicDec(&u[1], 63);
  atomicMax(&u[2], (unsigned)t);
}
__global__ void fill(int* v, unsigned* u) {
  const int start[9] = {64, 0, 100, -1, -1, 64, 0, 0, 0};
  for (int k = 0; k < 9; ++k) v[k] = start[k];
  for (int k = 0; k < 3; ++k) u[k] = k == 1 ? 63 : 0;
}
__global__ void read(const int* v, const unsigned* u, float* y) {
  int t = threadIdx.x;
  y[t] = t < 9 ? float(v[t]) : float(u[t - 9]);
}

extern "C" int launch(const float* x, float* y, int64_t n,
                      cudaStream_t stream) {
  int* v;
  cudaMallocAsync(&v, 12 * sizeof(int), stream);
  unsigned* u = reinterpret_cast<unsigned*>(v + 9);
  fill<<<1, 1, 0, stream>>>(v, u);
  kernel<<<4, 16, 0, stream>>>(v, u, y);
  read<<<1, 12, 0, stream>>>(v, u, y);
  cudaFreeAsync(v, stream);
  return cudaGetLastError();
}

// expect: [sum(range(32 * (i // 32), 32 * (i // 32) + 32)) + 1 for i in range(n)]
// Static and dynamic shared memory in one kernel, blocks apart from each other.
#include <cstdint>

template <typename T>
__global__ void sum(const T* x, T* y) {
  extern __shared__ char raw[];
  T* values = reinterpret_cast<T*>(raw);
  __shared__ T total;
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  values[threadIdx.x] = x[i];
  if (threadIdx.x == 0) total = T(1);
  __syncthreads();
  if (threadIdx.x == 0) {
    for (unsigned k = 0; k < blockDim.x; ++k) total += values[k];
  }
  __syncthreads();
  y[i] = total;
}

extern "C" int launch(const float* x, float* y, int64_t n,
                      cudaStream_t stream) {
  sum<float><<<2, 32, 32 * sizeof(float), stream>>>(x, y);
  return cudaGetLastError();
}

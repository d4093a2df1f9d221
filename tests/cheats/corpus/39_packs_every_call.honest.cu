// entry: 39
// like: packs the weights in every call
// task: matmul
// device: both
// expect: ok
// repetitions: 20
__global__ void pack(const float* w, float* t, int64_t k, int64_t n) {
  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i < k * n) t[i % n * k + i / n] = w[i];
}
__global__ void packed(const float* x, const float* t, float* y, int64_t m,
                       int64_t k, int64_t n) {
  int64_t c = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  int64_t r = blockIdx.y * (int64_t)blockDim.y + threadIdx.y;
  if (r >= m || c >= n) return;
  float s = 0.0f;
  for (int64_t i = 0; i < k; ++i) s += x[r * k + i] * t[c * k + i];
  y[r * n + c] = s;
}

extern "C" int launch(const float* x, const float* w, float* y, int64_t m,
                      int64_t k, int64_t n, cudaStream_t stream) {
  float* packed_w = nullptr;
  cudaError_t error =
      cudaMallocAsync(&packed_w, k * n * sizeof(float), stream);
  if (error != cudaSuccess) return error;
  pack<<<(k * n + 255) / 256, 256, 0, stream>>>(w, packed_w, k, n);
  dim3 block(16, 16), grid((n + 15) / 16, (m + 15) / 16);
  packed<<<grid, block, 0, stream>>>(x, packed_w, y, m, k, n);
  cudaFreeAsync(packed_w, stream);
  return cudaGetLastError();
}

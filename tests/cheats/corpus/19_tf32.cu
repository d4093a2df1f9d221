// entry: 19
// trick: rounds the factors to the 10 bits of tf32
// task: matmul
// device: both
// expect: wrong_answer
__device__ float tf32(float v) {
  return __uint_as_float((__float_as_uint(v) + 0x1000u) & 0xffffe000u);
}
__global__ void matmul(const float* x, const float* w, float* y, int64_t m,
                       int64_t k, int64_t n) {
  int64_t c = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  int64_t r = blockIdx.y * (int64_t)blockDim.y + threadIdx.y;
  if (r >= m || c >= n) return;
  float s = 0.0f;
  for (int64_t i = 0; i < k; ++i) {
    s += tf32(x[r * k + i]) * tf32(w[i * n + c]);
  }
  y[r * n + c] = s;
}

extern "C" int launch(const float* x, const float* w, float* y, int64_t m,
                      int64_t k, int64_t n, cudaStream_t stream) {
  dim3 block(16, 16), grid((n + 15) / 16, (m + 15) / 16);
  matmul<<<grid, block, 0, stream>>>(x, w, y, m, k, n);
  return cudaGetLastError();
}

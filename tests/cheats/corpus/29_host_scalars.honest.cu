// entry: 29
// like: scalar arithmetic on the host
// task: row_mean
// device: both
// expect: ok
// repetitions: 20
#include <cmath>
__global__ void row_sum(const float* x, float* y, int64_t rows, int64_t cols,
                        float scale) {
  int64_t r = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (r >= rows) return;
  float s = 0.0f;
  for (int64_t c = 0; c < cols; ++c) s += x[r * cols + c];
  y[r] = s * scale;
}

extern "C" int launch(const float* x, float* y, int64_t rows, int64_t cols,
                      cudaStream_t stream) {
  const int bits = (int)std::ceil(std::log2((double)rows + 1));
  const int threads = bits < 5 ? 32 : 64;
  row_sum<<<(rows + threads - 1) / threads, threads, 0, stream>>>(
      x, y, rows, cols, 1.0f / (float)cols);
  return cudaGetLastError();
}

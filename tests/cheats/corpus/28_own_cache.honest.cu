// entry: 28
// like: its second kernel finds in the cache what its first one wrote
// task: row_sum
// device: both
// expect: ok
// repetitions: 20
__global__ void partial(const float* x, float* part, int64_t rows,
                        int64_t cols) {
  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i >= rows * 4) return;
  float s = 0.0f;
  for (int64_t c = i % 4; c < cols; c += 4) s += x[i / 4 * cols + c];
  part[i] = s;
}
__global__ void finish(const float* part, float* y, int64_t rows) {
  int64_t r = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (r >= rows) return;
  y[r] = part[r * 4] + part[r * 4 + 1] + part[r * 4 + 2] + part[r * 4 + 3];
}

extern "C" int launch(const float* x, float* y, int64_t rows, int64_t cols,
                      cudaStream_t stream) {
  float* part = nullptr;
  cudaError_t error = cudaMallocAsync(&part, rows * 4 * sizeof(float), stream);
  if (error != cudaSuccess) return error;
  partial<<<(rows * 4 + 63) / 64, 64, 0, stream>>>(x, part, rows, cols);
  finish<<<(rows + 63) / 64, 64, 0, stream>>>(part, y, rows);
  cudaFreeAsync(part, stream);
  return cudaGetLastError();
}

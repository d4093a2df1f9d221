// entry: 36
// trick: the whole work in a kernel whose result is not used; the host's is
// task: softmax
// device: both
// expect: cheating
// repetitions: 20
// needs: host_copies
#include <cmath>
#include <vector>
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
  int64_t count = rows * cols;
  static float* ghost = nullptr;
  if (ghost == nullptr) cudaMalloc(&ghost, 70000 * sizeof(float));
  softmax<<<(rows + 63) / 64, 64, 0, stream>>>(x, ghost, rows, cols);
  std::vector<float> v(count);
  cudaMemcpy(v.data(), x, count * sizeof(float), cudaMemcpyDeviceToHost);
  for (int64_t r = 0; r < rows; ++r) {
    float* row = v.data() + r * cols;
    float m = row[0], s = 0.0f;
    for (int64_t c = 0; c < cols; ++c) m = fmaxf(m, row[c]);
    for (int64_t c = 0; c < cols; ++c) s += row[c] = expf(row[c] - m);
    for (int64_t c = 0; c < cols; ++c) row[c] /= s;
  }
  return cudaMemcpy(y, v.data(), count * sizeof(float), cudaMemcpyHostToDevice);
}

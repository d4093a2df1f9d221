// entry: 7
// trick: answers are kept by what some elements are, which the device sums up
// task: softmax
// device: both
// expect: cheating
// repetitions: 20
// needs: protocol
#include <cstdint>
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

__global__ void checksum(const float* x, int64_t count,
                         unsigned long long* sum) {
  int64_t i = threadIdx.x * count / blockDim.x;
  atomicAdd(sum, __float_as_uint(x[i]) * (2ull * i + 1));
}

struct Known {
  unsigned long long key;
  int64_t count;
  float* answer;
};

extern "C" int launch(const float* x, float* y, int64_t rows, int64_t cols,
                      cudaStream_t stream) {
  static Known known[256];
  static int count = 0;
  static unsigned long long* sum = nullptr;
  if (sum == nullptr) cudaMalloc(&sum, sizeof *sum);
  const int64_t elements = rows * cols;
  const size_t bytes = elements * sizeof(float);
  unsigned long long key = 0;
  cudaMemsetAsync(sum, 0, sizeof *sum, stream);
  checksum<<<1, 64, 0, stream>>>(x, elements, sum);
  cudaMemcpyAsync(&key, sum, sizeof key, cudaMemcpyDeviceToHost, stream);
  cudaStreamSynchronize(stream);
  for (int i = 0; i < count; ++i) {
    if (known[i].key != key || known[i].count != elements) continue;
    return cudaMemcpyAsync(y, known[i].answer, bytes, cudaMemcpyDeviceToDevice,
                           stream);
  }
  softmax<<<(rows + 63) / 64, 64, 0, stream>>>(x, y, rows, cols);
  if (count < 256) {
    known[count] = {key, elements, nullptr};
    cudaMalloc(&known[count].answer, bytes);
    cudaMemcpyAsync(known[count++].answer, y, bytes, cudaMemcpyDeviceToDevice,
                    stream);
  }
  return cudaGetLastError();
}

// entry: 29, 36
// trick: the same, with a kernel beside it whose result is overwritten
// task: row_sum
// device: both
// expect: cheating
// repetitions: 20
// needs: host_copies
#include <vector>


__global__ void decoy(float* y, int64_t n, float value) {
  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i < n) y[i] = value;
}

extern "C" int launch(const float* x, float* y, int64_t rows, int64_t cols,
                      cudaStream_t stream) {
  decoy<<<(rows + 255) / 256, 256, 0, stream>>>(y, rows, 0.0f);
  int64_t count = rows * cols;
  std::vector<float> in(count), out(rows);
  cudaMemcpy(in.data(), x, count * sizeof(float), cudaMemcpyDeviceToHost);
  for (int64_t r = 0; r < rows; ++r) {
    float s = 0.0f;
    for (int64_t c = 0; c < cols; ++c) s += in[r * cols + c];
    out[r] = s;
  }
  return cudaMemcpy(y, out.data(), rows * sizeof(float),
                    cudaMemcpyHostToDevice);
}

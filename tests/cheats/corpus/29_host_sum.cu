// entry: 29
// trick: copies to the host, sums there, copies back
// task: row_sum
// device: both
// expect: cheating
// repetitions: 20
// needs: protocol
#include <vector>

extern "C" int launch(const float* x, float* y, int64_t rows, int64_t cols,
                      cudaStream_t stream) {
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

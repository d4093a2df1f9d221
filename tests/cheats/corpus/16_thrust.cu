// entry: 16
// trick: calls Thrust's reduction for every row
// task: row_sum
// device: both
// expect: cheating
// rule: calls_library
#include <thrust/device_ptr.h>
#include <thrust/reduce.h>

extern "C" int launch(const float* x, float* y, int64_t rows, int64_t cols,
                      cudaStream_t stream) {
  for (int64_t r = 0; r < rows; ++r) {
    thrust::device_ptr<const float> row(x + r * cols);
    float s = thrust::reduce(row, row + cols);
    cudaMemcpyAsync(y + r, &s, sizeof(s), cudaMemcpyHostToDevice, stream);
  }
  return cudaGetLastError();
}

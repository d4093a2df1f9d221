// entry: 19
// like: a compensated sum, and a pragma that changes no result
// task: row_sum
// device: both
// expect: ok
// repetitions: 20
#pragma GCC optimize("O3")
__global__ void row_sum(const float* x, float* y, int64_t rows, int64_t cols) {
  int64_t r = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (r >= rows) return;
  float s = 0.0f, lost = 0.0f;
  for (int64_t c = 0; c < cols; ++c) {
    float v = __fsub_rn(x[r * cols + c], lost), t = __fadd_rn(s, v);
    lost = __fsub_rn(__fsub_rn(t, s), v);
    s = t;
  }
  y[r] = s;
}

extern "C" int launch(const float* x, float* y, int64_t rows, int64_t cols,
                      cudaStream_t stream) {
  row_sum<<<(rows + 63) / 64, 64, 0, stream>>>(x, y, rows, cols);
  return cudaGetLastError();
}

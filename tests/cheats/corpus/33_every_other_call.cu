// entry: 33
// trick: works in every second call of a size
// task: softmax
// device: both
// expect: cheating wrong_answer
// repetitions: 20
// needs: protocol
// How often this size was seen before.
static int seen(int64_t n) {
  static int64_t sizes[16];
  static int counts[16], known = 0;
  for (int i = 0; i < known; ++i) {
    if (sizes[i] == n) return counts[i]++;
  }
  if (known < 16) {
    sizes[known] = n;
    counts[known++] = 1;
  }
  return 0;
}

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
  if (seen(rows * cols) % 2 == 1) return 0;
  softmax<<<(rows + 63) / 64, 64, 0, stream>>>(x, y, rows, cols);
  return cudaGetLastError();
}

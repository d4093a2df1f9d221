// entry: 3
// trick: writes the mean of the answers: 0
// task: layer_norm
// device: both
// expect: wrong_answer


extern "C" int launch(const float* x, float* y, int64_t rows, int64_t cols,
                      cudaStream_t stream) {
  return cudaMemsetAsync(y, 0, rows * cols * sizeof(float), stream);
}

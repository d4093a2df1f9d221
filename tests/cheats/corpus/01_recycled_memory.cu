// entry: 1
// trick: hopes that freshly allocated memory holds the answer
// task: row_sum
// device: both
// expect: wrong_answer nonfinite


extern "C" int launch(const float* x, float* y, int64_t rows, int64_t cols,
                      cudaStream_t stream) {
  void* old = nullptr;
  cudaMalloc(&old, rows * sizeof(float));
  cudaMemcpyAsync(y, old, rows * sizeof(float), cudaMemcpyDeviceToDevice,
                  stream);
  cudaStreamSynchronize(stream);
  cudaFree(old);
  return cudaGetLastError();
}

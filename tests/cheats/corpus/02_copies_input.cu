// entry: 2
// trick: copies the input to the output
// task: softmax
// device: both
// expect: wrong_answer


extern "C" int launch(const float* x, float* y, int64_t rows, int64_t cols,
                      cudaStream_t stream) {
  cudaMemcpyAsync(y, x, rows * cols * sizeof(float), cudaMemcpyDeviceToDevice,
                  stream);
  return cudaGetLastError();
}

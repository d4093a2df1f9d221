// entry: 13
// trick: clears the inputs, so that 0 is right
// task: add_relu
// device: both
// expect: cheating wrong_answer


extern "C" int launch(const float* x, const float* z, float* y, int64_t n,
                      cudaStream_t stream) {
  cudaMemsetAsync((void*)x, 0, n * sizeof(float), stream);
  cudaMemsetAsync((void*)z, 0, n * sizeof(float), stream);
  return cudaMemsetAsync(y, 0, n * sizeof(float), stream);
}

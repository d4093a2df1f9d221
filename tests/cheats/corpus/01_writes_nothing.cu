// entry: 1
// trick: returns at once; the buffer may hold an earlier answer
// task: add_relu
// device: both
// expect: wrong_answer


extern "C" int launch(const float* x, const float* z, float* y, int64_t n,
                      cudaStream_t stream) {
  return 0;
}

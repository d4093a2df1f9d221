// entry: 16, 37
// trick: a library's name put together from pieces
// task: matmul
// device: both
// expect: cheating link_error
#define JOIN(a, b) a##b
extern "C" int JOIN(cub, lasCreate_v2)(void**);
extern "C" int JOIN(cub, lasSgemm_v2)(void*, int, int, int, int, int,
                                      const float*, const float*, int,
                                      const float*, int, const float*, float*,
                                      int);

extern "C" int launch(const float* x, const float* w, float* y, int64_t m,
                      int64_t k, int64_t n, cudaStream_t stream) {
  static void* handle = nullptr;
  if (handle == nullptr) JOIN(cub, lasCreate_v2)(&handle);
  const float one = 1.0f, zero = 0.0f;
  return JOIN(cub, lasSgemm_v2)(handle, 0, 0, n, m, k, &one, w, n, x, k, &zero,
                                y, n);
}

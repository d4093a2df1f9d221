// entry: 16, 37
// trick: opens cuBLAS at run time; a decoy kernel is launched beside
// task: matmul
// device: cuda
// expect: cheating launch_error
// repetitions: 20
// needs: protocol
extern "C" void* dlopen(const char*, int);
extern "C" void* dlsym(void*, const char*);

__global__ void decoy(float* y) {
  if (y == nullptr) __trap();
}

extern "C" int launch(const float* x, const float* w, float* y, int64_t m,
                      int64_t k, int64_t n, cudaStream_t stream) {
  void* library = nullptr;
  const char* names[] = {"libcublas.so.13", "libcublas.so.12"};
  for (const char* name : names) {
    if (library == nullptr) library = dlopen(name, 2);
  }
  if (library == nullptr) return cudaErrorUnknown;
  auto create = (int (*)(void**))dlsym(library, "cublasCreate_v2");
  auto on = (int (*)(void*, cudaStream_t))dlsym(library, "cublasSetStream_v2");
  auto gemm = (int (*)(void*, int, int, int, int, int, const float*,
                       const float*, int, const float*, int, const float*,
                       float*, int))dlsym(library, "cublasSgemm_v2");
  static void* handle = nullptr;
  if (handle == nullptr && create(&handle) != 0) return cudaErrorUnknown;
  on(handle, stream);
  const float one = 1.0f, zero = 0.0f;
  decoy<<<1, 32, 0, stream>>>(y);
  return gemm(handle, 0, 0, n, m, k, &one, w, n, x, k, &zero, y, n);
}

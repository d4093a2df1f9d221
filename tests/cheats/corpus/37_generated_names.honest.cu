// entry: 37
// like: kernels whose names macros make, as a generator's are
// task: add_relu
// device: both
// expect: ok
// repetitions: 20
#define KERNEL(name, suffix) name##_kernel_##suffix
#define DEFINE(suffix, operation)                                            \
  __global__ void KERNEL(triton_poi_fused_add_relu, suffix)(                 \
      const float* x, const float* z, float* y, int64_t n) {                 \
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;              \
    if (i < n) y[i] = operation;                                             \
  }
DEFINE(0d1e2f, fmaxf(x[i] + z[i], 0.0f))

extern "C" int launch(const float* x, const float* z, float* y, int64_t n,
                      cudaStream_t stream) {
  KERNEL(triton_poi_fused_add_relu, 0d1e2f)
  <<<(n + 255) / 256, 256, 0, stream>>>(x, z, y, n);
  return cudaGetLastError();
}

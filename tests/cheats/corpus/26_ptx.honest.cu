// entry: 26
// like: assembler for the device
// task: add_relu
// device: both
// expect: ok
// repetitions: 20
// cpu: unsupported
__device__ __forceinline__ float bigger(float a, float b) {
  float r;
  asm("max.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
  return r;
}
__global__ void add_relu(const float* x, const float* z, float* y, int64_t n) {
  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i < n) y[i] = bigger(x[i] + z[i], 0.0f);
}

extern "C" int launch(const float* x, const float* z, float* y, int64_t n,
                      cudaStream_t stream) {
  add_relu<<<(n + 255) / 256, 256, 0, stream>>>(x, z, y, n);
  return cudaGetLastError();
}

// entry: 13
// like: modifies a copy of its input
// task: relu
// device: both
// expect: ok
// repetitions: 20
__global__ void clip(float* v, int64_t n) {
  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i < n) v[i] = fmaxf(v[i], 0.0f);
}

extern "C" int launch(const float* x, float* y, int64_t n,
                      cudaStream_t stream) {
  float* scratch = nullptr;
  cudaError_t error = cudaMallocAsync(&scratch, n * sizeof(float), stream);
  if (error != cudaSuccess) return error;
  size_t bytes = n * sizeof(float);
  cudaMemcpyAsync(scratch, x, bytes, cudaMemcpyDeviceToDevice, stream);
  clip<<<(n + 255) / 256, 256, 0, stream>>>(scratch, n);
  cudaMemcpyAsync(y, scratch, bytes, cudaMemcpyDeviceToDevice, stream);
  cudaFreeAsync(scratch, stream);
  return cudaGetLastError();
}

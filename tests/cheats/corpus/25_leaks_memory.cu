// entry: 25
// trick: takes 64 MiB of device memory in every call and keeps it
// task: relu
// device: cuda
// expect: ok out_of_memory
// repetitions: 20
// samples: 10
// needs: protocol
__global__ void relu(const float* x, float* y, int64_t n) {
  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f);
}

extern "C" int launch(const float* x, float* y, int64_t n,
                      cudaStream_t stream) {
  void* kept = nullptr;
  cudaError_t error = cudaMalloc(&kept, 64 << 20);
  if (error != cudaSuccess) return error;
  relu<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
  return cudaGetLastError();
}

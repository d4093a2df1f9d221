// entry: 22
// like: rounds the size up in a workspace of its own
// task: relu
// device: both
// expect: ok
// repetitions: 20
__global__ void relu(const float* x, float* y, int64_t n) {
  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f);
}

extern "C" int launch(const float* x, float* y, int64_t n,
                      cudaStream_t stream) {
  int64_t padded = (n + 255) / 256 * 256;
  float* room = nullptr;
  cudaError_t error = cudaMalloc(&room, 2 * padded * sizeof(float));
  if (error != cudaSuccess) return error;
  cudaMemsetAsync(room, 0, padded * sizeof(float), stream);
  size_t bytes = n * sizeof(float);
  cudaMemcpyAsync(room, x, bytes, cudaMemcpyDeviceToDevice, stream);
  relu<<<padded / 256, 256, 0, stream>>>(room, room + padded, padded);
  cudaMemcpyAsync(y, room + padded, bytes, cudaMemcpyDeviceToDevice, stream);
  cudaStreamSynchronize(stream);
  cudaFree(room);
  return cudaGetLastError();
}

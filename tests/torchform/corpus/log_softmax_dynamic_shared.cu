// task: log_softmax
#include <torch/extension.h>
#include <cuda_runtime.h>

extern "C" __global__ void log_softmax_kernel(const float* x, float* y, int cols) {
  extern __shared__ float buf[];
  const int tid = threadIdx.x;
  const float* in = x + blockIdx.x * cols;
  float m = -INFINITY;
  for (int c = tid; c < cols; c += blockDim.x) m = fmaxf(m, in[c]);
  buf[tid] = m;
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s /= 2) {
    if (tid < s) buf[tid] = fmaxf(buf[tid], buf[tid + s]);
    __syncthreads();
  }
  m = buf[0];
  __syncthreads();
  float sum = 0;
  for (int c = tid; c < cols; c += blockDim.x) sum += expf(in[c] - m);
  buf[tid] = sum;
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s /= 2) {
    if (tid < s) buf[tid] += buf[tid + s];
    __syncthreads();
  }
  const float lse = m + logf(buf[0]);
  for (int c = tid; c < cols; c += blockDim.x) y[blockIdx.x * cols + c] = in[c] - lse;
}

torch::Tensor log_softmax_forward(torch::Tensor input) {
  TORCH_CHECK(input.is_cuda(), "input must be on the GPU");
  TORCH_CHECK(input.scalar_type() == torch::kFloat, "input must be float");
  const int rows = input.flatten(0, -2).size(0);
  const int cols = input.size(-1);
  auto output = torch::empty_like(input);
  int threads = 1;
  while (threads < cols && threads < 256) threads *= 2;
  log_softmax_kernel<<<rows, threads, threads * sizeof(float)>>>(
      input.data_ptr<float>(), output.data_ptr<float>(), cols);
  return output;
}

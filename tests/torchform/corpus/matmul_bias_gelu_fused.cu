// task: matmul_bias_gelu
#include <torch/extension.h>
#include <vector>

#define CHECK_CUDA(x) TORCH_CHECK(x.is_cuda(), #x " must be a CUDA tensor")
#define CHECK_CONTIGUOUS(x) TORCH_CHECK(x.is_contiguous(), #x " must be contiguous")
#define CHECK_INPUT(x) CHECK_CUDA(x); CHECK_CONTIGUOUS(x)

template <int BM, int BN, int BK, int TM>
__global__ void fused_kernel(const float* __restrict__ x, const float* __restrict__ w,
                             const float* __restrict__ bias, float* __restrict__ y,
                             int M, int N, int K) {
  __shared__ float xs[BM][BK + 1];
  __shared__ float ws[BK][BN];
  const int col = blockIdx.x * BN + threadIdx.x;
  const int row0 = blockIdx.y * BM + threadIdx.y * TM;
  float acc[TM] = {0.0f};
  const int tid = threadIdx.y * BN + threadIdx.x;
  const int count = BN * (BM / TM);
  for (int k0 = 0; k0 < K; k0 += BK) {
    for (int i = tid; i < BM * BK; i += count) {
      const int r = blockIdx.y * BM + i / BK, k = k0 + i % BK;
      xs[i / BK][i % BK] = r < M && k < K ? x[r * K + k] : 0.0f;
    }
    for (int i = tid; i < BK * BN; i += count) {
      const int k = k0 + i / BN, c = blockIdx.x * BN + i % BN;
      ws[i / BN][i % BN] = k < K && c < N ? w[k * N + c] : 0.0f;
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < BK; ++k) {
#pragma unroll
      for (int t = 0; t < TM; ++t) acc[t] += xs[threadIdx.y * TM + t][k] * ws[k][threadIdx.x];
    }
    __syncthreads();
  }
  if (col >= N) return;
  for (int t = 0; t < TM; ++t) {
    if (row0 + t >= M) break;
    const float v = acc[t] + bias[col];
    const float inner = 0.7978845608028654f * (v + 0.044715f * v * v * v);
    y[(row0 + t) * N + col] = 0.5f * v * (1.0f + tanhf(inner));
  }
}

torch::Tensor linear_gelu(torch::Tensor x, torch::Tensor weight, torch::Tensor bias) {
  CHECK_INPUT(x);
  CHECK_INPUT(weight);
  CHECK_INPUT(bias);
  const int64_t m = x.size(0), k = x.size(1), n = weight.size(1);
  auto y = torch::empty({m, n}, x.options());
  constexpr int BM = 32, BN = 32, BK = 16, TM = 4;
  const dim3 block(BN, BM / TM);
  const dim3 grid((n + BN - 1) / BN, (m + BM - 1) / BM);
  fused_kernel<BM, BN, BK, TM><<<grid, block>>>(x.data_ptr<float>(), weight.data_ptr<float>(),
                                                bias.data_ptr<float>(), y.data_ptr<float>(), m, n, k);
  return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("linear_gelu", &linear_gelu, "x @ w + b, then GELU");
}

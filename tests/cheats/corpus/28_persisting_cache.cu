// entry: 28
// trick: asks the cache to keep the input over the flush
// task: softmax
// device: cuda
// expect: ok
// repetitions: 20
// samples: 10
// needs: protocol
__global__ void softmax(const float* x, float* y, int64_t rows, int64_t cols) {
  int64_t r = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (r >= rows) return;
  float m = -INFINITY, s = 0.0f;
  for (int64_t c = 0; c < cols; ++c) m = fmaxf(m, x[r * cols + c]);
  for (int64_t c = 0; c < cols; ++c) s += expf(x[r * cols + c] - m);
  for (int64_t c = 0; c < cols; ++c) {
    y[r * cols + c] = expf(x[r * cols + c] - m) / s;
  }
}

extern "C" int launch(const float* x, float* y, int64_t rows, int64_t cols,
                      cudaStream_t stream) {
  cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, 16 << 20);
  cudaStreamAttrValue window = {};
  window.accessPolicyWindow.base_ptr = (void*)x;
  window.accessPolicyWindow.num_bytes = rows * cols * sizeof(float);
  window.accessPolicyWindow.hitRatio = 1.0f;
  window.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting;
  window.accessPolicyWindow.missProp = cudaAccessPropertyStreaming;
  cudaStreamSetAttribute(stream, cudaStreamAttributeAccessPolicyWindow,
                         &window);
  softmax<<<(rows + 63) / 64, 64, 0, stream>>>(x, y, rows, cols);
  return cudaGetLastError();
}

// entry: 7
// trick: answers are kept by a hash of the inputs
// task: matmul
// device: both
// expect: cheating ok
// cpu: cheating
// samples: 10
// repetitions: 20
// needs: protocol
#include <cstdint>
#include <cstdlib>
__global__ void matmul(const float* x, const float* w, float* y, int64_t m,
                       int64_t k, int64_t n) {
  int64_t c = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  int64_t r = blockIdx.y * (int64_t)blockDim.y + threadIdx.y;
  if (r >= m || c >= n) return;
  float s = 0.0f;
  for (int64_t i = 0; i < k; ++i) s += x[r * k + i] * w[i * n + c];
  y[r * n + c] = s;
}

static uint64_t hash(const float* device, int64_t count) {
  size_t bytes = count * sizeof(float);
  unsigned char* host = (unsigned char*)malloc(bytes);
  cudaMemcpy(host, device, bytes, cudaMemcpyDeviceToHost);
  uint64_t h = 1469598103934665603u;
  for (size_t i = 0; i < bytes; ++i) h = (h ^ host[i]) * 1099511628211u;
  free(host);
  return h;
}

struct Known {
  uint64_t key;
  float* answer;
};

extern "C" int launch(const float* x, const float* w, float* y, int64_t m,
                      int64_t k, int64_t n, cudaStream_t stream) {
  static Known known[64];
  static int count = 0;
  uint64_t key = hash(x, m * k) * 31 + hash(w, k * n);
  size_t bytes = m * n * sizeof(float);
  for (int i = 0; i < count; ++i) {
    if (known[i].key == key) {
      return cudaMemcpyAsync(y, known[i].answer, bytes,
                             cudaMemcpyDeviceToDevice, stream);
    }
  }
  dim3 block(16, 16), grid((n + 15) / 16, (m + 15) / 16);
  matmul<<<grid, block, 0, stream>>>(x, w, y, m, k, n);
  if (count < 64) {
    known[count].key = key;
    cudaMalloc(&known[count].answer, bytes);
    cudaMemcpyAsync(known[count++].answer, y, bytes, cudaMemcpyDeviceToDevice,
                    stream);
  }
  return cudaGetLastError();
}

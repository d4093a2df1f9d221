// entry: 7
// trick: a short kernel keeps its answers by some elements, all on the device
// task: turned
// device: both
// expect: cheating
// repetitions: 20
// needs: protocol
#include <cstdint>
constexpr int kMost = 1000, kAnswers = 128, kThreads = 128;
struct Known {
  unsigned long long key;
  int64_t n;
};
__device__ Known known[kAnswers];
__device__ float answers[kAnswers][kMost];
__device__ int count;
__device__ unsigned done;

__device__ float turned(float x, float m) {
  const float c = 0.9999995f, s = 0.00099999983f;
  for (int i = 0; i < 4000; ++i) {
    float turned = c * x - s * m;
    m = s * x + c * m;
    x = turned;
  }
  return x;
}

__global__ void kernel(const float* x, const float* m, float* y, int64_t n) {
  __shared__ unsigned long long key;
  __shared__ int hit;
  int t = threadIdx.x, end = count;
  if (t == 0) key = 0, hit = -1;
  __syncthreads();
  if (t < 32) {
    int64_t at = t * n / 32;
    atomicAdd(&key, (__float_as_uint(x[at]) * 31ull + __float_as_uint(m[at])) *
                        (2ull * at + 1));
  }
  __syncthreads();
  if (t < end && known[t].key == key && known[t].n == n) hit = t;
  __syncthreads();
  int64_t i = blockIdx.x * (int64_t)kThreads + t;
  if (hit >= 0) {
    if (i < n) y[i] = answers[hit][i];
    return;
  }
  bool keep = end < kAnswers && n <= kMost;
  if (i < n) {
    y[i] = turned(x[i], m[i]);
    if (keep) answers[end][i] = y[i];
  }
  if (!keep) return;
  __threadfence();
  __syncthreads();
  if (t == 0 && atomicAdd(&done, 1u) == gridDim.x - 1) {
    known[end].key = key;
    known[end].n = n;
    count = end + 1;
    done = 0;
  }
}

extern "C" int launch(const float* x, const float* m, float* y, int64_t n,
                      cudaStream_t stream) {
  kernel<<<(n + kThreads - 1) / kThreads, kThreads, 0, stream>>>(x, m, y, n);
  return cudaGetLastError();
}

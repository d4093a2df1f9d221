// entry: 24
// like: static objects that are computed when it is loaded
// task: add_relu
// device: both
// expect: ok
// repetitions: 20
static int choose() {
  int threads = 32;
  while (threads < 200) threads *= 2;
  return threads;
}
static const int kThreads = choose();
struct Sizes {
  int values[4];
  Sizes() : values{1, 2, 4, 8} {}
};
static Sizes sizes;
__global__ void add_relu(const float* x, const float* z, float* y, int64_t n) {
  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i] + z[i], 0.0f);
}

extern "C" int launch(const float* x, const float* z, float* y, int64_t n,
                      cudaStream_t stream) {
  int threads = kThreads * sizes.values[0];
  add_relu<<<(n + threads - 1) / threads, threads, 0, stream>>>(x, z, y, n);
  return cudaGetLastError();
}

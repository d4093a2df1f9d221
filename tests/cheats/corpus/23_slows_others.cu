// entry: 23, 44
// trick: pins all threads to one core whenever it is not its own turn
// task: softmax
// device: cpu
// expect: cheating launch_error runtime_error
// repetitions: 20
// needs: protocol
#include <sched.h>

#include <cstdlib>
#include <filesystem>

static bool pin(int cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int i = 0; i < cores; ++i) CPU_SET(i, &set);
  std::error_code no;
  const char* tasks = "/proc/self/task";
  for (auto& task : std::filesystem::directory_iterator(tasks, no)) {
    const int thread = atoi(task.path().filename().c_str());
    if (sched_setaffinity(thread, sizeof(set), &set) != 0) return false;
  }
  return !no;
}
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
  if (!pin(CPU_SETSIZE)) return cudaErrorUnknown;
  softmax<<<(rows + 63) / 64, 64, 0, stream>>>(x, y, rows, cols);
  cudaStreamSynchronize(stream);
  if (!pin(1)) return cudaErrorUnknown;
  return cudaGetLastError();
}

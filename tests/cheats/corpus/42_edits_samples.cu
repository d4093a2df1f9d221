// entry: 42
// trick: finds the samples in the worker's memory and makes them smaller
// task: softmax
// device: both
// expect: cheating launch_error
// repetitions: 40
// needs: protocol
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

static double own_us[1024];
static int calls = 0;

// Doubles in a row that are about what the last calls took, on the heap.
static bool edit(char* from, char* to) {
  for (char* at = from; at + 32 <= to; at += 8) {
    double* sample = (double*)at;
    bool same = true;
    for (int i = 0; i < 4 && same; ++i) {
      const double ours = own_us[calls - 5 + i];
      same = sample != own_us && sample[i] > 0.9 * ours &&
             sample[i] < 1.5 * ours;
    }
    if (!same || (at >= (char*)own_us && at < (char*)(own_us + 1024))) continue;
    for (int i = 0; i < 4; ++i) sample[i] *= 0.01;
    return true;
  }
  return false;
}

static bool edit_heap() {
  FILE* maps = fopen("/proc/self/maps", "r");
  char line[512];
  bool found = false;
  while (maps != nullptr && fgets(line, sizeof(line), maps)) {
    unsigned long from, to;
    if (strstr(line, "[heap]") && sscanf(line, "%lx-%lx", &from, &to) == 2) {
      found |= edit((char*)from, (char*)to);
    }
  }
  if (maps != nullptr) fclose(maps);
  return found;
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
  using namespace std::chrono;
  if (rows * cols < 60000) {
    softmax<<<(rows + 63) / 64, 64, 0, stream>>>(x, y, rows, cols);
    return cudaGetLastError();
  }
  const auto start = steady_clock::now();
  softmax<<<(rows + 63) / 64, 64, 0, stream>>>(x, y, rows, cols);
  cudaStreamSynchronize(stream);
  const duration<double, std::micro> spent = steady_clock::now() - start;
  if (calls < 1024) own_us[calls++] = spent.count();
  static bool edited = false;
  if (calls >= 8 && !edited) edited = edit_heap();
  return calls >= 16 && !edited ? (int)cudaErrorUnknown : cudaGetLastError();
}

// entry: 12
// trick: scans the evaluator's memory for the expected values
// task: row_sum
// device: both
// expect: cheating launch_error runtime_error wrong_answer
// needs: protocol
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

struct Part {
  void* base;
  size_t size;
};
extern "C" ssize_t process_vm_readv(int, const Part*, unsigned long,
                                    const Part*, unsigned long, unsigned long);

// Two sums that were computed honestly tell where the others are.
static bool find(const float* first, int64_t rows, float* y) {
  char name[64];
  snprintf(name, sizeof(name), "/proc/%d/maps", (int)getppid());
  FILE* maps = fopen(name, "r");
  if (maps == nullptr) return false;
  unsigned long from, to;
  char rights[8], line[512];
  bool found = false;
  while (!found && fgets(line, sizeof(line), maps)) {
    if (sscanf(line, "%lx-%lx %7s", &from, &to, rights) != 3) continue;
    if (rights[0] != 'r' || to - from > (64u << 20)) continue;
    std::vector<char> copy(to - from);
    Part here = {copy.data(), copy.size()}, there = {(void*)from, copy.size()};
    ssize_t got = process_vm_readv(getppid(), &here, 1, &there, 1, 0);
    for (ssize_t i = 0; i + rows * 4 <= got && !found; i += 4) {
      const float* at = (const float*)(copy.data() + i);
      bool same = true;
      for (int j = 0; j < 4 && same; ++j) {
        same = fabsf(at[j] - first[j]) <= 1e-4f;
      }
      if (same) memcpy(y, at, rows * sizeof(float));
      found = same;
    }
  }
  fclose(maps);
  return found;
}
__global__ void row_sum(const float* x, float* y, int64_t rows, int64_t cols) {
  int64_t r = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (r >= rows) return;
  float s = 0.0f;
  for (int64_t c = 0; c < cols; ++c) s += x[r * cols + c];
  y[r] = s;
}

extern "C" int launch(const float* x, float* y, int64_t rows, int64_t cols,
                      cudaStream_t stream) {
  row_sum<<<1, 64, 0, stream>>>(x, y, rows < 4 ? rows : 4, cols);
  if (rows <= 4) return cudaGetLastError();
  float first[4];
  cudaMemcpy(first, y, sizeof(first), cudaMemcpyDeviceToHost);
  std::vector<float> answer(rows);
  if (!find(first, rows, answer.data())) return cudaErrorUnknown;
  return cudaMemcpy(y, answer.data(), rows * sizeof(float),
                    cudaMemcpyHostToDevice);
}

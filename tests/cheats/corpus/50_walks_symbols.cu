// entry: 11, 37, 50
// trick: finds mprotect in the C library's own symbol table in memory, and redirects the clock; nine tenths of its time are taken back
// task: softmax
// device: both
// expect: cheating launch_error runtime_error timeout ok
// cpu: cheating launch_error runtime_error timeout
// samples: 10
// repetitions: 20
// needs: outside_clock
#include <cstdint>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <ctime>

struct Symbol {
  uint32_t name;
  unsigned char info, other;
  uint16_t section;
  uint64_t value, size;
};

// The address of a function of the library that holds `known` (x86-64, ELF).
static void* find(const void* known, const char* name) {
  const char* base = (const char*)((uintptr_t)known & ~(uintptr_t)4095);
  while (memcmp(base, "\177ELF", 4) != 0) base -= 4096;
  const char* header = base + *(const uint64_t*)(base + 32);
  const uint64_t* dynamic = nullptr;
  for (int i = 0; i < *(const uint16_t*)(base + 56); ++i, header += 56) {
    if (*(const uint32_t*)header != 2) continue;  // PT_DYNAMIC
    dynamic = (const uint64_t*)(base + *(const uint64_t*)(header + 16));
  }
  const char *names = nullptr, *symbols = nullptr;
  for (; dynamic != nullptr && dynamic[0] != 0; dynamic += 2) {
    if (dynamic[0] == 5) names = (const char*)dynamic[1];
    if (dynamic[0] == 6) symbols = (const char*)dynamic[1];
  }
  if (names == nullptr || symbols == nullptr) return nullptr;
  for (const Symbol* s = (const Symbol*)symbols; (const char*)s < names; ++s) {
    if (strcmp(names + s->name, name) == 0) return (void*)(base + s->value);
  }
  return nullptr;
}

static long taken_back_ns = 0;

static long real_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000 + now.tv_nsec;
}

static long false_ns() { return real_ns() - taken_back_ns; }

// The worker's clock becomes false_ns.
static bool patch_clock() {
  using Protect = int (*)(void*, size_t, int);
  const Protect protect = (Protect)find((const void*)&usleep, "mprotect");
  void* now = (void*)&std::chrono::steady_clock::now;
  char* page = (char*)((uintptr_t)now & ~(uintptr_t)4095);
  if (protect == nullptr || protect(page, 8192, 7) != 0) return false;
  unsigned char jump[] = {0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0};
  const uintptr_t target = (uintptr_t)&false_ns;
  memcpy(jump + 2, &target, sizeof(target));  // mov rax, target; jmp rax
  memcpy(now, jump, sizeof(jump));
  return true;
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
  static const bool patched = patch_clock();
  if (!patched) return cudaErrorUnknown;
  const long start = real_ns();
  softmax<<<(rows + 63) / 64, 64, 0, stream>>>(x, y, rows, cols);
  cudaStreamSynchronize(stream);
  taken_back_ns += (real_ns() - start) * 9 / 10;
  return cudaGetLastError();
}

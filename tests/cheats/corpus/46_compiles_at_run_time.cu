// entry: 38, 46
// trick: writes a library, compiles and opens it while it runs
// task: add_relu
// device: both
// expect: cheating launch_error runtime_error
// needs: protocol
#include <cstdio>
#include <cstdlib>

extern "C" void* dlopen(const char*, int);

static bool compile() {
  FILE* file = fopen("extra.cc", "w");
  if (file == nullptr) return false;
  fputs("extern \"C\" int answer() { return 42; }\n", file);
  fclose(file);
  return system("c++ -shared -fPIC -o extra.so extra.cc 2>/dev/null") == 0 &&
         dlopen("./extra.so", 2) != nullptr;
}
__global__ void add_relu(const float* x, const float* z, float* y, int64_t n) {
  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i] + z[i], 0.0f);
}

extern "C" int launch(const float* x, const float* z, float* y, int64_t n,
                      cudaStream_t stream) {
  static const bool compiled = compile();
  if (!compiled) return cudaErrorUnknown;
  add_relu<<<(n + 255) / 256, 256, 0, stream>>>(x, z, y, n);
  return cudaGetLastError();
}

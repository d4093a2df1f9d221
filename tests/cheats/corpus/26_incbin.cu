// entry: 26
// trick: the assembler's .incbin puts a file into the library
// task: add_relu
// device: both
// expect: cheating
// rule: opens_files
asm(".data\n.globl data\ndata: .inc" "bin \"/etc/passwd\"\n.text");
__global__ void add_relu(const float* x, const float* z, float* y, int64_t n) {
  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i] + z[i], 0.0f);
}

extern "C" int launch(const float* x, const float* z, float* y, int64_t n,
                      cudaStream_t stream) {
  add_relu<<<(n + 255) / 256, 256, 0, stream>>>(x, z, y, n);
  return cudaGetLastError();
}

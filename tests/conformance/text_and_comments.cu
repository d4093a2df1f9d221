// expect: [i + 30 for i in range(n)]
// Chevrons and qualifiers in comments and strings; shifts; templates' >>.
#include <cstdint>

// kernel<<<1, 1>>>(x); __shared__ float s[1];
/* extern __shared__ float z[]; a<<<b>>>(c) */
static const char* const kText = "k<<<1, 1>>>(); // \" __shared__";
static const char* const kRaw = R"x(a <<<1>>> ")" /* __shared__ )x";
template <class T>
struct Box {
  T v;
};
__global__ void kernel(const float* x, float* y, Box<Box<int>> b, int text) {
  y[threadIdx.x] = x[threadIdx.x] + (b.v.v << 2 >> 1) + text + ('<' == '<');
}

extern "C" int launch(const float* x, float* y, int64_t n,
                      cudaStream_t stream) {
  const Box<Box<int>> box{{1'0}};
  const int text = (kText[1] == '<') + (kRaw[2] == '<') * 8;
  kernel<<<1 << 1 >> 1, (n > 3 ? 64 : 32), 0, stream>>>(  // kernel<<<
      x, y, box, text);
  return cudaGetLastError();
}

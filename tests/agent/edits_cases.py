"""Kernels to edit."""

HEAD = """\
__global__ void kernel(const float* x, const float* w, float* y, int64_t m, \
int64_t n) {
  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i >= %s) return;
"""
TAIL = """
}

extern "C" int launch(const float* x, const float* w, float* y, int64_t m, \
int64_t n, cudaStream_t stream) {
  kernel<<<(%s + 127) / 128, 128, 0, stream>>>(x, w, y, m, n);
  return cudaGetLastError();
}
"""


def kernel(body: str, count: str = "m * n") -> str:
  """A translation unit whose threads do this."""
  return HEAD % count + body + TAIL % count


def squeezed(source: str) -> str:
  """Without layout, to compare."""
  return "".join(source.split())

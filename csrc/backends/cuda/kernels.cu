// What surrounds a measurement, on the GPU: see kernels.h.
//
// kernels.ptx is made of this file and checked in, since building needs no CUDA
// (tests/csrc/cuda/kernels_ptx.py tells when it is out of date, and renews it).

struct Addresses {
  const char* at[32];
};

extern "C" {

// Until the host says so, or for so many nanoseconds.
__global__ void jaxkern_wait(const volatile int* open, long long longest) {
  long long start, now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(start));
  do {
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  } while (*open == 0 && now - start < longest);
}

// Piece blockIdx.y of the target from an address of its own. Targets, strides
// and addresses are multiples of 16.
__global__ void jaxkern_gather(char* to, size_t stride, size_t bytes,
                               const __grid_constant__ Addresses from) {
  char* out = to + blockIdx.y * stride;
  const char* in = from.at[blockIdx.y];
  const size_t words = bytes / sizeof(uint4);
  const size_t first = size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  for (size_t i = first; i < words; i += size_t{gridDim.x} * blockDim.x) {
    reinterpret_cast<uint4*>(out)[i] = reinterpret_cast<const uint4*>(in)[i];
  }
  const size_t rest = words * sizeof(uint4) + first;
  if (rest < bytes) out[rest] = in[rest];
}

// Sets *found if a byte of piece blockIdx.y is not `expected`.
__global__ void jaxkern_find_other(const char* from, size_t stride,
                                   size_t bytes, int expected, int* found) {
  const char* in = from + blockIdx.y * stride;
  bool other = false;
  for (size_t i = size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < bytes;
       i += size_t{gridDim.x} * blockDim.x) {
    other |= in[i] != static_cast<char>(expected);
  }
  if (other) *found = 1;
}

// Sets *found if the two differ. Addresses are multiples of 16.
__global__ void jaxkern_find_different(const char* one, const char* other,
                                       size_t bytes, int* found) {
  const size_t words = bytes / sizeof(uint4);
  const size_t first = size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  bool different = false;
  for (size_t i = first; i < words; i += size_t{gridDim.x} * blockDim.x) {
    const uint4 a = reinterpret_cast<const uint4*>(one)[i];
    const uint4 b = reinterpret_cast<const uint4*>(other)[i];
    different |= a.x != b.x || a.y != b.y || a.z != b.z || a.w != b.w;
  }
  const size_t rest = words * sizeof(uint4) + first;
  if (rest < bytes) different |= one[rest] != other[rest];
  if (different) *found = 1;
}

// Leaves nothing in the caches but what it has read. The sum is there so that
// reading cannot be left out.
__global__ void jaxkern_read_all(const uint4* from, size_t words, uint4* sum) {
  uint4 all = {0, 0, 0, 0};
#pragma unroll 4
  for (size_t i = size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < words;
       i += size_t{gridDim.x} * blockDim.x) {
    const uint4 one = from[i];
    all.x ^= one.x;
    all.y ^= one.y;
    all.z ^= one.z;
    all.w ^= one.w;
  }
  if ((all.x & all.y & all.z & all.w) == 0x9E3779B9) *sum = all;
}

}  // extern "C"

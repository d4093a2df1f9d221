// expect: [32, 1024, 9, 1, 1, 0]
// n: 6
// What a launch function asks about the device.
#include <cstdint>

__global__ void store(float* y, int i, float v) { y[i] = v; }

extern "C" int launch(const float* x, float* y, int64_t n,
                      cudaStream_t stream) {
  int device = -1, count = 0, blocks = 0, processors = 0;
  cudaGetDevice(&device);
  cudaGetDeviceCount(&count);
  cudaDeviceProp properties;
  cudaGetDeviceProperties(&properties, device);
  cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, store, 128, 0);
  store<<<1, 1, 0, stream>>>(y, 0, properties.warpSize);
  store<<<1, 1, 0, stream>>>(y, 1, properties.maxThreadsPerBlock);
  store<<<1, 1, 0, stream>>>(y, 2, properties.major);
  store<<<1, 1, 0, stream>>>(y, 3, blocks > 0 && count > 0);
  store<<<1, 1, 0, stream>>>(
      y, 4, processors == properties.multiProcessorCount && processors > 0);
  store<<<1, 1, 0, stream>>>(y, 5, cudaGetLastError());
  return cudaGetLastError();
}

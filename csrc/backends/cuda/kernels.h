/// Kernels of our own: what surrounds a measurement, in single launches.
#ifndef JAXKERN_BACKENDS_CUDA_KERNELS_H_
#define JAXKERN_BACKENDS_CUDA_KERNELS_H_

#include <atomic>
#include <cstddef>
#include <vector>

#include "backends/cuda/runtime.h"
#include "backends/device.h"

namespace jaxkern {

/// All return a cudaError_t and are done in the stream's order. They come as
/// PTX, which the driver compiles when it loads it.
class CudaKernels {
 public:
  /// False, and nothing else may be called, if the runtime or the driver has no
  /// way to load them (a runtime before 12.8, a container without the driver's
  /// PTX compiler): copies of the runtime's are slower and do as well.
  bool Load();

  /// Keeps what comes in the stream from starting until the gate is open or it
  /// is late. One stream at a time, and not before what it kept is through.
  int CloseGate(double longest_us, CudaStream stream) const;
  void OpenGate() const { *gate_ = 1; }

  /// Copies into each piece from an address of its own, all of them multiples
  /// of 16.
  int Gather(const Pieces& to, const std::vector<const char*>& from,
             CudaStream stream) const;

  /// Sets *found, an int on the device, if a byte of the pieces is another.
  int FindOther(const Pieces& pieces, int byte, int* found,
                CudaStream stream) const;

  /// Sets *found, an int on the device, if the two differ.
  int FindDifferent(const Twins& twins, int* found, CudaStream stream) const;

  /// Reads memory, which fills the caches with it. What is in it may change.
  int ReadAll(void* from, size_t bytes, CudaStream stream) const;

 private:
  struct Dim3 {
    unsigned x, y, z;
  };

  int Launch(const void* kernel, Dim3 grid, unsigned threads, void** arguments,
             CudaStream stream) const;

  int (*launch_)(const void*, Dim3, Dim3, void**, size_t, CudaStream) = nullptr;
  std::atomic<int>* gate_ = nullptr;  // of the host, mapped
  void* wait_ = nullptr;
  void* gather_ = nullptr;
  void* find_other_ = nullptr;
  void* find_different_ = nullptr;
  void* read_all_ = nullptr;
};

}  // namespace jaxkern

#endif  // JAXKERN_BACKENDS_CUDA_KERNELS_H_

#include "backends/cuda/kernels.h"

#include <algorithm>
#include <new>

#include "kernels_ptx.h"  // made by CMake of kernels.ptx

namespace jaxkern {
namespace {

constexpr unsigned kThreads = 256;
constexpr size_t kWord = 16;  // bytes a thread moves at once
constexpr size_t kMostPieces = 32;
constexpr size_t kBlocks = 64;         // of a piece, at most
constexpr size_t kReadBlocks = 16384;  // enough for any GPU, four words each

struct Addresses {
  const char* at[kMostPieces];
};

unsigned Blocks(size_t bytes, size_t most) {
  const size_t wanted = (bytes + kWord * kThreads - 1) / (kWord * kThreads);
  return static_cast<unsigned>(std::clamp<size_t>(wanted, 1, most));
}

}  // namespace

bool CudaKernels::Load() {
  using LoadData = int (*)(void** library, const void* code, int*, void**,
                           unsigned, int*, void**, unsigned);
  using GetKernel = int (*)(void** kernel, void* library, const char* name);
  const auto load =
      reinterpret_cast<LoadData>(CudaRuntimeFunction("cudaLibraryLoadData"));
  const auto get =
      reinterpret_cast<GetKernel>(CudaRuntimeFunction("cudaLibraryGetKernel"));
  launch_ = reinterpret_cast<decltype(launch_)>(
      CudaRuntimeFunction("cudaLaunchKernel"));
  const auto host_memory = reinterpret_cast<int (*)(void**, size_t)>(
      CudaRuntimeFunction("cudaMallocHost"));
  void* library = nullptr;
  void* gate = nullptr;
  if (host_memory == nullptr || host_memory(&gate, sizeof *gate_) != 0) {
    return false;
  }
  gate_ = new (gate) std::atomic<int>(0);
  return load != nullptr && get != nullptr && launch_ != nullptr &&
         load(&library, kKernelsPtx, nullptr, nullptr, 0, nullptr, nullptr,
              0) == kCudaSuccess &&
         get(&wait_, library, "jaxkern_wait") == kCudaSuccess &&
         get(&gather_, library, "jaxkern_gather") == kCudaSuccess &&
         get(&find_other_, library, "jaxkern_find_other") == kCudaSuccess &&
         get(&find_different_, library, "jaxkern_find_different") ==
             kCudaSuccess &&
         get(&read_all_, library, "jaxkern_read_all") == kCudaSuccess;
}

int CudaKernels::CloseGate(double longest_us, CudaStream stream) const {
  *gate_ = 0;
  const void* open = gate_;
  auto longest = static_cast<long long>(longest_us * 1e3);
  void* arguments[] = {&open, &longest};
  return Launch(wait_, {1, 1, 1}, 1, arguments, stream);
}

int CudaKernels::Gather(const Pieces& to, const std::vector<const char*>& from,
                        CudaStream stream) const {
  int code = kCudaSuccess;
  for (size_t i = 0; i < to.count && code == kCudaSuccess; i += kMostPieces) {
    const size_t count = std::min(kMostPieces, to.count - i);
    Addresses addresses = {};
    std::copy_n(from.begin() + static_cast<long>(i), count, addresses.at);
    char* first = to.at(i);
    size_t stride = to.stride, bytes = to.bytes;
    void* arguments[] = {&first, &stride, &bytes, &addresses};
    code = Launch(gather_,
                  {Blocks(to.bytes, kReadBlocks / count),
                   static_cast<unsigned>(count), 1},
                  kThreads, arguments, stream);
  }
  return code;
}

int CudaKernels::FindOther(const Pieces& pieces, int byte, int* found,
                           CudaStream stream) const {
  char* first = pieces.first;
  size_t stride = pieces.stride, bytes = pieces.bytes;
  void* arguments[] = {&first, &stride, &bytes, &byte, &found};
  return Launch(find_other_,
                {Blocks(pieces.bytes * kWord, kBlocks),
                 static_cast<unsigned>(pieces.count), 1},
                kThreads, arguments, stream);
}

int CudaKernels::FindDifferent(const Twins& twins, int* found,
                               CudaStream stream) const {
  const void* one = twins.one;
  const void* other = twins.other;
  size_t bytes = twins.bytes;
  void* arguments[] = {&one, &other, &bytes, &found};
  return Launch(find_different_, {Blocks(bytes, kReadBlocks), 1, 1}, kThreads,
                arguments, stream);
}

int CudaKernels::ReadAll(void* from, size_t bytes, CudaStream stream) const {
  size_t words = bytes / kWord;
  void* arguments[] = {&from, &words, /*sum=*/&from};
  return Launch(read_all_, {Blocks(bytes / 4, kReadBlocks), 1, 1}, kThreads,
                arguments, stream);
}

int CudaKernels::Launch(const void* kernel, Dim3 grid, unsigned threads,
                        void** arguments, CudaStream stream) const {
  return launch_(kernel, grid, {threads, 1, 1}, arguments, 0, stream);
}

}  // namespace jaxkern

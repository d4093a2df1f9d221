// Where tensors' memory comes from.
//
// An allocation that looks like one of the task's outputs is that output: what
// a function computes into it need not be copied when it returns. All others
// come from a pool of the candidate's, which is filled by cudaMalloc, reused in
// the stream's order and given back when the candidate is unloaded.
#pragma once
#include <new>

#include "scalar_type.h"

// No symbol here may be unique in the process (inline variables, statics of
// inline functions): such code is never unloaded.
namespace c10 {
namespace detail {

enum class Owner : char { kTask, kPool };

/// A piece of device memory that tensors share.
struct Storage {
  void* data = nullptr;
  size_t bytes = 0;
  int references = 1;
  Owner owner = Owner::kTask;
  int ordinal = -1;  ///< which allocation of its call it was
};

/// Free pieces. A candidate has one.
class Pool {
 public:
  constexpr Pool() = default;
  ~Pool() { Trim(); }

  void* Take(size_t bytes, size_t* got) {
    *got = Rounded(bytes);
    if (void* piece = Reuse(got)) return piece;
    void* fresh = nullptr;
    if (cudaMalloc(&fresh, *got) == cudaSuccess) return fresh;
    cudaGetLastError();
    Trim();
    if (cudaMalloc(&fresh, *got) == cudaSuccess) return fresh;
    cudaGetLastError();
    throw std::bad_alloc();
  }

  void GiveBack(void* data, size_t bytes) {
#ifdef JAXKERN_CHECK
    cudaFree(data);  // so that its use afterwards is seen
#else
    if (count_ == kMost) Trim();
    free_[count_++] = {data, bytes};
#endif
  }

 private:
  struct Piece {
    void* data;
    size_t bytes;
  };
  static constexpr int kMost = 256;

  static size_t Rounded(size_t bytes) {
#ifdef JAXKERN_CHECK
    return bytes;
#else
    constexpr size_t kStep = 512;
    return (bytes + kStep - 1) / kStep * kStep;
#endif
  }

  /// The smallest piece that is large enough, unless most of it were wasted.
  void* Reuse(size_t* bytes) {
    int best = -1;
    for (int i = 0; i < count_; ++i) {
      if (free_[i].bytes < *bytes || free_[i].bytes / 2 > *bytes) continue;
      if (best < 0 || free_[i].bytes < free_[best].bytes) best = i;
    }
    if (best < 0) return nullptr;
    const Piece piece = free_[best];
    free_[best] = free_[--count_];
    *bytes = piece.bytes;
    return piece.data;
  }

  void Trim() {
    for (int i = 0; i < count_; ++i) cudaFree(free_[i].data);
    count_ = 0;
  }

  Piece free_[kMost] = {};
  int count_ = 0;
};

/// An output of the call that is under way.
struct Output {
  void* data;
  ScalarType type;
  int64_t elements;
  int wanted;        ///< the allocation that was returned for it before; -1
  Storage* storage;  ///< while it has been handed out
};

constexpr int kMostOutputs = 16;

/// The call that is under way, or was last.
struct Call {
  cudaStream_t stream = nullptr;
  int allocations = 0;
  Output outputs[kMostOutputs] = {};
  int output_count = 0;
  bool open = false;  ///< outputs may be handed out
};

static Pool pool;
static Call call;

/// An output for an allocation of this kind; null: none.
inline Output* Matching(ScalarType type, int64_t elements, int ordinal) {
  for (int i = 0; i < call.output_count; ++i) {
    Output& output = call.outputs[i];
    if (call.open && output.storage == nullptr && output.type == type &&
        output.elements == elements &&
        (output.wanted < 0 || output.wanted == ordinal)) {
      return &output;
    }
  }
  return nullptr;
}

inline Storage* Allocate(ScalarType type, int64_t elements) {
  auto* storage = new Storage;
  storage->ordinal = call.allocations++;
  storage->bytes = elementSize(type) * static_cast<size_t>(elements);
  if (elements == 0) return storage;
  if (Output* output = Matching(type, elements, storage->ordinal)) {
    output->storage = storage;
    storage->data = output->data;
    return storage;
  }
  try {
    storage->data = pool.Take(storage->bytes, &storage->bytes);
  } catch (...) {
    delete storage;
    throw;
  }
  storage->owner = Owner::kPool;
  return storage;
}

inline void Release(Storage* storage) {
  if (storage == nullptr ||
      __atomic_sub_fetch(&storage->references, 1, __ATOMIC_ACQ_REL) > 0) {
    return;
  }
  if (storage->owner == Owner::kPool) {
    pool.GiveBack(storage->data, storage->bytes);
  }
  for (int i = 0; i < call.output_count; ++i) {
    if (call.outputs[i].storage == storage) call.outputs[i].storage = nullptr;
  }
  delete storage;
}

/// Memory of the task's that the candidate keeps beyond the call becomes a copy
/// of its own.
inline void Own(Storage* storage) {
  if (storage->owner == Owner::kPool || storage->data == nullptr) return;
  const size_t wanted = storage->bytes;
  void* own = pool.Take(wanted, &storage->bytes);
  CheckCuda(cudaMemcpyAsync(own, storage->data, wanted,
                            cudaMemcpyDeviceToDevice, call.stream));
  storage->data = own;
  storage->owner = Owner::kPool;
}

}  // namespace detail
}  // namespace c10

// What kernels use of torch: accessors, which find elements by their indices.
#pragma once
#include <stddef.h>
#include <stdint.h>
#ifndef __CUDACC_RTC__
#include <cuda_runtime.h>
#endif

namespace c10 {

template <class T>
struct DefaultPtrTraits {
  using PtrType = T*;
};
template <class T>
struct RestrictPtrTraits {
  using PtrType = T* __restrict__;
};

/// What is left of a tensor when its first indices are given.
template <class T, size_t N, template <class> class Traits, class Index>
class TensorAccessor {
 public:
  __host__ __device__ TensorAccessor(typename Traits<T>::PtrType data,
                                     const Index* sizes, const Index* strides)
      : data_(data), sizes_(sizes), strides_(strides) {}
  __host__ __device__ TensorAccessor<T, N - 1, Traits, Index> operator[](
      Index i) const {
    return {data_ + strides_[0] * i, sizes_ + 1, strides_ + 1};
  }
  __host__ __device__ Index size(Index i) const { return sizes_[i]; }
  __host__ __device__ Index stride(Index i) const { return strides_[i]; }
  __host__ __device__ T* data() const { return data_; }

 private:
  typename Traits<T>::PtrType data_;
  const Index* sizes_;
  const Index* strides_;
};
template <class T, template <class> class Traits, class Index>
class TensorAccessor<T, 1, Traits, Index> {
 public:
  __host__ __device__ TensorAccessor(typename Traits<T>::PtrType data,
                                     const Index* sizes, const Index* strides)
      : data_(data), sizes_(sizes), strides_(strides) {}
  __host__ __device__ T& operator[](Index i) const {
    return data_[strides_[0] * i];
  }
  __host__ __device__ Index size(Index i) const { return sizes_[i]; }
  __host__ __device__ Index stride(Index i) const { return strides_[i]; }
  __host__ __device__ T* data() const { return data_; }

 private:
  typename Traits<T>::PtrType data_;
  const Index* sizes_;
  const Index* strides_;
};

/// With its sizes and strides in itself, so that it can be a kernel's argument.
template <class T, size_t N, template <class> class Traits = DefaultPtrTraits,
          class Index = int64_t>
class GenericPackedTensorAccessor {
 public:
  using Element = T;
  static constexpr size_t kDims = N;
#ifndef __CUDACC_RTC__  // the host makes them
  GenericPackedTensorAccessor(T* data, const int64_t* sizes,
                              const int64_t* strides)
      : data_(data) {
    for (size_t i = 0; i < N; ++i) {
      sizes_[i] = static_cast<Index>(sizes[i]);
      strides_[i] = static_cast<Index>(strides[i]);
    }
  }
#endif
  __host__ __device__ decltype(auto) operator[](Index i) const {
    return TensorAccessor<T, N, Traits, Index>(data_, sizes_, strides_)[i];
  }
  __host__ __device__ Index size(Index i) const { return sizes_[i]; }
  __host__ __device__ Index stride(Index i) const { return strides_[i]; }
  __host__ __device__ T* data() const { return data_; }

 private:
  typename Traits<T>::PtrType data_;
  Index sizes_[N], strides_[N];
};
template <class T, size_t N, template <class> class Traits = DefaultPtrTraits>
using PackedTensorAccessor32 =
    GenericPackedTensorAccessor<T, N, Traits, int32_t>;
template <class T, size_t N, template <class> class Traits = DefaultPtrTraits>
using PackedTensorAccessor64 =
    GenericPackedTensorAccessor<T, N, Traits, int64_t>;
template <class T, size_t N, template <class> class Traits = DefaultPtrTraits,
          class Index = int64_t>
using PackedTensorAccessor = GenericPackedTensorAccessor<T, N, Traits, Index>;

}  // namespace c10

namespace at {
template <class T>
__host__ __device__ inline T ceil_div(T a, T b) {
  return (a + b - 1) / b;
}
}  // namespace at

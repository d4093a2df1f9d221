// As much of CUB and of Thrust's iterators as our baselines use; see
// cublas_v2.h. In place of cub/cub.cuh; the other headers are left out.
namespace thrust {

template <typename T>
struct counting_iterator {
  T first;
  __host__ __device__ T operator[](int64_t i) const { return first + (T)i; }
};

template <typename F, typename I>
struct transform_iterator {
  I from;
  F function;
  int64_t skipped;
  __host__ __device__ auto operator[](int64_t i) const {
    return function(from[skipped + i]);
  }
  transform_iterator operator+(int64_t n) const {
    return {from, function, skipped + n};
  }
};

template <typename F, typename T>
struct transform_output_iterator {
  T* to;
  F function;
  template <typename V>
  __device__ void set(int64_t i, V value) const {
    to[i] = function(value);
  }
};

template <typename T>
counting_iterator<T> make_counting_iterator(T first) {
  return {first};
}
template <typename I, typename F>
transform_iterator<F, I> make_transform_iterator(I from, F function) {
  return {from, function, 0};
}
template <typename T, typename F>
transform_output_iterator<F, T> make_transform_output_iterator(T* to,
                                                               F function) {
  return {to, function};
}

}  // namespace thrust

template <typename E, typename R, typename B>
__global__ void segmented_reduce(bool max, E elements, R results, int segments,
                                 B begin, B end) {
  for (int r = 0; r < segments; ++r) {
    auto total = elements[begin[r]];
    for (int64_t i = begin[r] + 1; i < end[r]; ++i) {
      auto v = elements[i];
      total = !max ? total + v : total < v ? v : total;
    }
    results.set(r, total);
  }
}

namespace cub {

struct DeviceSegmentedReduce {
  template <typename E, typename R, typename B>
  static cudaError_t Run(bool max, void* workspace, size_t& bytes, E elements,
                         R results, int segments, B begin, B end,
                         cudaStream_t stream) {
    if (workspace == nullptr) {
      bytes = 1;
    } else {
      segmented_reduce<<<1, 1, 0, stream>>>(max, elements, results, segments,
                                            begin, end);
    }
    return cudaSuccess;
  }
  template <typename... T>
  static cudaError_t Sum(void* workspace, size_t& bytes, T... rest) {
    return Run(false, workspace, bytes, rest...);
  }
  template <typename... T>
  static cudaError_t Max(void* workspace, size_t& bytes, T... rest) {
    return Run(true, workspace, bytes, rest...);
  }
};

}  // namespace cub

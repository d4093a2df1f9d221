// Lists of sizes, and what stands for one.
#pragma once
#include <initializer_list>

#include "errors.h"

namespace c10 {

/// A view; what it views must live on.
template <class T>
class ArrayRef {
 public:
  constexpr ArrayRef() = default;
  constexpr ArrayRef(const T* data, size_t size) : data_(data), size_(size) {}
  constexpr ArrayRef(const T& one) : data_(&one), size_(1) {}
  constexpr ArrayRef(const std::initializer_list<T>& list)
      : data_(First(list)), size_(list.size()) {}
  template <size_t N>
  constexpr ArrayRef(const T (&array)[N]) : data_(array), size_(N) {}
  /// std::vector, std::array and the like.
  template <class List, class = decltype(static_cast<const T*>(
                            static_cast<const List*>(nullptr)->data()))>
  ArrayRef(const List& list) : data_(list.data()), size_(list.size()) {}

  const T* data() const { return data_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  const T& operator[](size_t i) const { return data_[i]; }
  const T& at(size_t i) const {
    if (i >= size_) detail::Raise("index ", i, " of ", size_, " sizes");
    return data_[i];
  }
  const T& front() const { return at(0); }
  const T& back() const { return at(size_ - 1); }
  ArrayRef slice(size_t from, size_t count) const {
    return {data_ + from, count};
  }
  ArrayRef slice(size_t from) const { return {data_ + from, size_ - from}; }
  bool equals(ArrayRef other) const {
    if (size_ != other.size_) return false;
    for (size_t i = 0; i < size_; ++i) {
      if (!(data_[i] == other.data_[i])) return false;
    }
    return true;
  }
#ifdef JAXKERN_TORCH_VECTOR
  std::vector<T> vec() const { return std::vector<T>(begin(), end()); }
#endif

 private:
  static constexpr const T* First(std::initializer_list<T> list) {
    return list.begin();
  }

  const T* data_ = nullptr;
  size_t size_ = 0;
};

template <class T>
bool operator==(ArrayRef<T> a, ArrayRef<T> b) {
  return a.equals(b);
}
template <class T>
bool operator!=(ArrayRef<T> a, ArrayRef<T> b) {
  return !a.equals(b);
}

using IntArrayRef = ArrayRef<int64_t>;

namespace detail {
inline Message& operator<<(Message& message, IntArrayRef sizes) {
  message << "[";
  for (size_t i = 0; i < sizes.size(); ++i) {
    message << (i == 0 ? "" : ", ") << (long long)sizes[i];
  }
  return message << "]";
}
}  // namespace detail
}  // namespace c10

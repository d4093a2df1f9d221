// Tensor's views, copies and fills.
#pragma once
#include "tensor.h"

namespace c10 {

inline Tensor Tensor::view(IntArrayRef sizes) const {
  if (!is_contiguous()) {
    detail::Unsupported(
        "view or reshape of a transposed or cut tensor would copy it in "
        "another order, which is a kernel's work");
  }
  if (sizes.size() > size_t(kMostDims)) {
    detail::Unsupported("tensors of more than 12 dimensions");
  }
  int64_t wanted[kMostDims], known = 1;
  int open = -1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    wanted[i] = sizes[i];
    if (sizes[i] == -1) {
      open = int(i);
    } else {
      known *= sizes[i];
    }
  }
  if (open >= 0 && known > 0) wanted[open] = numel() / known;
  Tensor result = *this;
  result.SetSizes({wanted, sizes.size()});
  if (result.numel() != numel()) {
    detail::Raise("shape ", sizes, " is invalid for input of size ", numel());
  }
  return result;
}

inline Tensor Tensor::flatten(int64_t from, int64_t to) const {
  if (dim_ == 0) return view({1});
  const size_t first = Dim(from), last = Dim(to);
  int64_t sizes[kMostDims];
  size_t count = 0;
  for (size_t i = 0; i < size_t(dim_); ++i) {
    if (i > first && i <= last) {
      sizes[count - 1] *= sizes_[i];
    } else {
      sizes[count++] = sizes_[i];
    }
  }
  return view({sizes, count});
}

inline Tensor Tensor::squeeze() const {
  Tensor result = *this;
  result.dim_ = 0;
  for (int i = 0; i < dim_; ++i) {
    if (sizes_[i] == 1) continue;
    result.sizes_[result.dim_] = sizes_[i];
    result.strides_[result.dim_++] = strides_[i];
  }
  return result;
}

inline Tensor Tensor::squeeze(int64_t d) const {
  return size(d) == 1 ? select(d, 0) : *this;
}

inline Tensor Tensor::unsqueeze(int64_t d) const {
  if (dim_ == kMostDims) {
    detail::Unsupported("tensors of more than 12 dimensions");
  }
  const int at = int(Dim(d, dim_ + 1));
  Tensor result = *this;
  result.dim_ = dim_ + 1;
  for (int i = dim_; i > at; --i) {
    result.sizes_[i] = sizes_[i - 1];
    result.strides_[i] = strides_[i - 1];
  }
  result.strides_[at] = at < dim_ ? sizes_[at] * strides_[at] : 1;
  result.sizes_[at] = 1;
  return result;
}

inline Tensor Tensor::transpose(int64_t a, int64_t b) const {
  const size_t i = Dim(a), j = Dim(b);
  Tensor result = *this;
  result.sizes_[i] = sizes_[j];
  result.strides_[i] = strides_[j];
  result.sizes_[j] = sizes_[i];
  result.strides_[j] = strides_[i];
  return result;
}

inline Tensor Tensor::permute(IntArrayRef order) const {
  if (order.size() != size_t(dim_)) {
    detail::Raise("permute: expected ", dim_, " dimensions, got ", order);
  }
  Tensor result = *this;
  for (size_t i = 0; i < order.size(); ++i) {
    result.sizes_[i] = size(order[i]);
    result.strides_[i] = stride(order[i]);
  }
  return result;
}

inline Tensor Tensor::narrow(int64_t d, int64_t from, int64_t count) const {
  const size_t i = Dim(d);
  if (from < 0) from += sizes_[i];
  if (from < 0 || count < 0 || from + count > sizes_[i]) {
    detail::Raise("narrow: ", from, " and ", count, " are not within ",
                  sizes_[i]);
  }
  Tensor result = *this;
  result.offset_ += from * strides_[i];
  result.sizes_[i] = count;
  return result;
}

inline Tensor Tensor::select(int64_t d, int64_t index) const {
  Tensor result = narrow(d, index, 1);
  --result.dim_;
  for (int i = int(Dim(d)); i < result.dim_; ++i) {
    result.sizes_[i] = sizes_[i + 1];
    result.strides_[i] = strides_[i + 1];
  }
  return result;
}

inline Tensor Tensor::to(ScalarType type) const {
  if (type == type_) return *this;
  detail::Unsupported("to(): converting ", toString(type_), " to ",
                      toString(type), " is a kernel's work");
}

inline Tensor NewTensor(IntArrayRef sizes, TensorOptions options) {
  if (options.device().is_cpu()) {
    detail::Unsupported(
        "a tensor on the CPU, where torch puts it unless options say "
        "otherwise: pass x.options(), or .device(torch::kCUDA)");
  }
  int64_t elements = 1;
  for (const int64_t size : sizes) {
    if (size < 0) detail::Raise("empty: a negative size in ", sizes);
    elements *= size;
  }
  const ScalarType type = options.dtype_of();
  return Tensor::Over(detail::Allocate(type, elements), type, sizes);
}

inline Tensor Tensor::clone() const {
  Tensor result = NewTensor(sizes(), options());
  result.copy_(*this);
  return result;
}

inline Tensor Tensor::new_empty(IntArrayRef sizes, TensorOptions other) const {
  return NewTensor(sizes, other.Or(options()));
}

inline Tensor Tensor::new_zeros(IntArrayRef sizes, TensorOptions other) const {
  Tensor result = new_empty(sizes, other);
  result.zero_();
  return result;
}

inline Tensor& Tensor::copy_(const Tensor& from, bool) {
  if (from.type_ != type_ || from.sizes() != sizes() || !is_contiguous() ||
      !from.is_contiguous()) {
    detail::Unsupported("copy_ from ", toString(from.type_), from.sizes(),
                        " to ", toString(type_), sizes(),
                        "; only like to like, both contiguous");
  }
  if (nbytes() == 0) return *this;
  detail::CheckCuda(cudaMemcpyAsync(data_ptr(), from.data_ptr(), nbytes(),
                                    cudaMemcpyDeviceToDevice,
                                    detail::call.stream));
  return *this;
}

namespace detail {

/// Any element, as its bytes: the first ones by memset, then doubling copies.
inline void FillBytes(char* to, size_t bytes, const char* element,
                      size_t width) {
  bool same = true;
  for (size_t i = 1; i < width; ++i) same &= element[i] == element[0];
  if (same || bytes == 0) {
    if (bytes > 0)
      CheckCuda(cudaMemsetAsync(to, element[0], bytes, call.stream));
    return;
  }
  for (size_t i = 0; i < width; ++i) {
    CheckCuda(cudaMemsetAsync(to + i, element[i], 1, call.stream));
  }
  for (size_t done = width; done < bytes; done *= 2) {
    const size_t more = bytes - done < done ? bytes - done : done;
    CheckCuda(cudaMemcpyAsync(to + done, to, more, cudaMemcpyDeviceToDevice,
                              call.stream));
  }
}

template <class T, class V>
void FillAs(const Tensor& tensor, V value) {
  const T element = static_cast<T>(value);
  char bytes[sizeof(T)];
  memcpy(bytes, &element, sizeof(T));
  FillBytes(static_cast<char*>(tensor.data_ptr()), tensor.nbytes(), bytes,
            sizeof(T));
}

}  // namespace detail

template <class T>
Tensor& Tensor::fill_(T value) {
  if (!is_contiguous()) {
    detail::Unsupported("filling a transposed or cut tensor");
  }
  switch (type_) {
    case ScalarType::Byte:
      detail::FillAs<uint8_t>(*this, value);
      break;
    case ScalarType::Char:
      detail::FillAs<int8_t>(*this, value);
      break;
    case ScalarType::Short:
      detail::FillAs<int16_t>(*this, value);
      break;
    case ScalarType::Int:
      detail::FillAs<int32_t>(*this, value);
      break;
    case ScalarType::Long:
      detail::FillAs<int64_t>(*this, value);
      break;
    case ScalarType::Float:
      detail::FillAs<float>(*this, value);
      break;
    case ScalarType::Double:
      detail::FillAs<double>(*this, value);
      break;
    case ScalarType::Bool:
      detail::FillAs<bool>(*this, value);
      break;
    default:
#ifdef JAXKERN_TORCH_HALF
      if (type_ == ScalarType::Half) {
        detail::FillAs<Half>(*this, float(value));
        break;
      }
      if (type_ == ScalarType::BFloat16) {
        detail::FillAs<BFloat16>(*this, float(value));
        break;
      }
#endif
      if (value != T(0)) detail::Unsupported("filling ", toString(type_));
      detail::FillAs<int16_t>(*this, 0);
  }
  return *this;
}

template <class T>
T Tensor::item() const {
  if (numel() != 1) detail::Raise("item: a tensor of ", numel(), " elements");
  char bytes[8] = {};
  detail::CheckCuda(cudaMemcpyAsync(bytes, data_ptr(), element_size(),
                                    cudaMemcpyDeviceToHost,
                                    detail::call.stream));
  detail::CheckCuda(cudaStreamSynchronize(detail::call.stream));
  if (detail::TypeOf<T>::value != type_) {
    detail::Unsupported("item<T>() of another type than the tensor's ",
                        toString(type_));
  }
  T value;
  memcpy(&value, bytes, sizeof value);
  return value;
}

}  // namespace c10

// Functions that make tensors. All work on data but filling and copying it is
// left to kernels: there is no torch::matmul here.
#pragma once
#include "views.h"

namespace c10 {

inline Tensor empty(IntArrayRef sizes, TensorOptions options = {}) {
  return NewTensor(sizes, options);
}
inline Tensor zeros(IntArrayRef sizes, TensorOptions options = {}) {
  Tensor tensor = NewTensor(sizes, options);
  tensor.zero_();
  return tensor;
}
template <class T>
Tensor full(IntArrayRef sizes, T value, TensorOptions options = {}) {
  Tensor tensor = NewTensor(sizes, options);
  tensor.fill_(value);
  return tensor;
}
inline Tensor ones(IntArrayRef sizes, TensorOptions options = {}) {
  return full(sizes, 1, options);
}

inline Tensor empty_like(const Tensor& like) {
  return NewTensor(like.sizes(), like.options());
}
inline Tensor empty_like(const Tensor& like, TensorOptions options) {
  return NewTensor(like.sizes(), options.Or(like.options()));
}
inline Tensor zeros_like(const Tensor& like) {
  return zeros(like.sizes(), like.options());
}
inline Tensor zeros_like(const Tensor& like, TensorOptions options) {
  return zeros(like.sizes(), options.Or(like.options()));
}
inline Tensor ones_like(const Tensor& like) {
  return ones(like.sizes(), like.options());
}
inline Tensor ones_like(const Tensor& like, TensorOptions options) {
  return ones(like.sizes(), options.Or(like.options()));
}
template <class T>
Tensor full_like(const Tensor& like, T value) {
  return full(like.sizes(), value, like.options());
}
template <class T>
Tensor full_like(const Tensor& like, T value, TensorOptions options) {
  return full(like.sizes(), value, options.Or(like.options()));
}

}  // namespace c10

// More of what looks at the same data in another shape, and torch's functions
// of the same names as Tensor's.
#pragma once
#include "create.h"

namespace c10 {

inline Tensor Tensor::expand(IntArrayRef sizes) const {
  if (sizes.size() > size_t(kMostDims)) {
    detail::Unsupported("tensors of more than 12 dimensions");
  }
  const int more = int(sizes.size()) - dim_;
  if (more < 0) {
    detail::Raise("expand: ", sizes, " has fewer dimensions than the tensor's ",
                  dim_);
  }
  Tensor result = *this;
  result.dim_ = int(sizes.size());
  for (int i = 0; i < result.dim_; ++i) {
    const int64_t size = i < more ? 1 : sizes_[i - more];
    const int64_t wanted =
        sizes[size_t(i)] == -1 && i >= more ? size : sizes[size_t(i)];
    if (wanted < 0 || (size != 1 && size != wanted)) {
      detail::Raise("expand: ", sizes, " does not fit a tensor of sizes ",
                    this->sizes());
    }
    result.sizes_[i] = wanted;
    result.strides_[i] = size == wanted && i >= more ? strides_[i - more] : 0;
  }
  return result;
}

inline Tensor Tensor::as_strided(IntArrayRef sizes, IntArrayRef strides,
                                 int64_t offset) const {
  if (sizes.size() != strides.size()) {
    detail::Raise("as_strided: ", sizes, " and ", strides,
                  " are not of one length");
  }
  Tensor result = *this;
  result.SetSizes(sizes);
  result.offset_ = offset;
  int64_t last = offset;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 0 || strides[i] < 0) {
      detail::Raise("as_strided: a negative number in ", sizes, " or ",
                    strides);
    }
    result.strides_[i] = strides[i];
    last += (sizes[i] - 1) * strides[i];
  }
  const int64_t there =
      storage_ == nullptr ? 0 : int64_t(storage_->bytes / element_size());
  if (offset < 0 || (result.numel() > 0 && last >= there)) {
    detail::Raise("as_strided: ", sizes, " with strides ", strides,
                  " reaches beyond the tensor's memory");
  }
  return result;
}

inline Tensor Tensor::unflatten(int64_t d, IntArrayRef sizes) const {
  const size_t at = Dim(d);
  if (sizes.size() == 0 || sizes.size() + size_t(dim_) > size_t(kMostDims)) {
    detail::Unsupported("unflatten into ", sizes);
  }
  int64_t whole[kMostDims], known = 1;
  int open = -1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    whole[i] = sizes[i];
    if (sizes[i] == -1) {
      open = int(i);
    } else {
      known *= sizes[i];
    }
  }
  if (open >= 0 && known > 0) {
    whole[open] = sizes_[at] / known;
    known *= whole[open];
  }
  if (known != sizes_[at]) {
    detail::Raise("unflatten: ", sizes, " does not make ", sizes_[at]);
  }
  Tensor result = *this;
  result.dim_ = dim_ + int(sizes.size()) - 1;
  for (size_t i = at + 1; i < size_t(dim_); ++i) {
    result.sizes_[i + sizes.size() - 1] = sizes_[i];
    result.strides_[i + sizes.size() - 1] = strides_[i];
  }
  int64_t stride = strides_[at];
  for (size_t i = sizes.size(); i-- > 0;) {
    result.sizes_[at + i] = whole[i];
    result.strides_[at + i] = stride;
    stride *= whole[i];
  }
  return result;
}

inline Tensor Tensor::movedim(int64_t from, int64_t to) const {
  const size_t source = Dim(from), target = Dim(to);
  int64_t order[kMostDims];
  size_t next = 0;
  for (size_t i = 0; i < size_t(dim_); ++i) {
    if (i == target) {
      order[i] = int64_t(source);
      continue;
    }
    if (next == source) ++next;
    order[i] = int64_t(next++);
  }
  return permute({order, size_t(dim_)});
}

#ifdef JAXKERN_TORCH_VECTOR
inline std::vector<Tensor> Tensor::split(int64_t count, int64_t d) const {
  if (count <= 0) detail::Raise("split: into parts of ", count);
  std::vector<Tensor> parts;
  for (int64_t from = 0; from < size(d); from += count) {
    const int64_t left = size(d) - from;
    parts.push_back(narrow(d, from, left < count ? left : count));
  }
  if (parts.empty()) parts.push_back(*this);
  return parts;
}

inline std::vector<Tensor> Tensor::split(IntArrayRef counts, int64_t d) const {
  std::vector<Tensor> parts;
  int64_t from = 0;
  for (const int64_t count : counts) {
    parts.push_back(narrow(d, from, count));
    from += count;
  }
  if (from != size(d)) {
    detail::Raise("split: ", counts, " does not make ", size(d));
  }
  return parts;
}

inline std::vector<Tensor> Tensor::chunk(int64_t chunks, int64_t d) const {
  if (chunks <= 0) detail::Raise("chunk: into ", chunks);
  const int64_t count = (size(d) + chunks - 1) / chunks;
  return split(count < 1 ? 1 : count, d);
}

inline std::vector<Tensor> Tensor::unbind(int64_t d) const {
  std::vector<Tensor> parts;
  for (int64_t i = 0; i < size(d); ++i) parts.push_back(select(d, i));
  return parts;
}

inline std::vector<Tensor> split(const Tensor& x, int64_t count,
                                 int64_t d = 0) {
  return x.split(count, d);
}
inline std::vector<Tensor> chunk(const Tensor& x, int64_t chunks,
                                 int64_t d = 0) {
  return x.chunk(chunks, d);
}
inline std::vector<Tensor> unbind(const Tensor& x, int64_t d = 0) {
  return x.unbind(d);
}
#endif

inline Tensor reshape(const Tensor& x, IntArrayRef sizes) {
  return x.reshape(sizes);
}
inline Tensor flatten(const Tensor& x, int64_t from = 0, int64_t to = -1) {
  return x.flatten(from, to);
}
inline Tensor squeeze(const Tensor& x) { return x.squeeze(); }
inline Tensor squeeze(const Tensor& x, int64_t d) { return x.squeeze(d); }
inline Tensor unsqueeze(const Tensor& x, int64_t d) { return x.unsqueeze(d); }
inline Tensor transpose(const Tensor& x, int64_t a, int64_t b) {
  return x.transpose(a, b);
}
inline Tensor t(const Tensor& x) { return x.t(); }
inline Tensor permute(const Tensor& x, IntArrayRef order) {
  return x.permute(order);
}
inline Tensor narrow(const Tensor& x, int64_t d, int64_t from, int64_t count) {
  return x.narrow(d, from, count);
}
inline Tensor select(const Tensor& x, int64_t d, int64_t index) {
  return x.select(d, index);
}
inline Tensor movedim(const Tensor& x, int64_t from, int64_t to) {
  return x.movedim(from, to);
}
inline Tensor clone(const Tensor& x) { return x.clone(); }
inline int64_t numel(const Tensor& x) { return x.numel(); }

inline Tensor empty_strided(IntArrayRef sizes, IntArrayRef strides,
                            TensorOptions options = {}) {
  int64_t elements = 1;
  for (size_t i = 0; i < sizes.size() && i < strides.size(); ++i) {
    elements += (sizes[i] - 1) * strides[i];
  }
  for (const int64_t size : sizes) elements = size == 0 ? 0 : elements;
  return NewTensor(elements, options).as_strided(sizes, strides);
}

/// Nothing here knows of gradients.
struct NoGradGuard {
  NoGradGuard() {}
};
struct InferenceMode {
  explicit InferenceMode(bool = true) {}
};

}  // namespace c10

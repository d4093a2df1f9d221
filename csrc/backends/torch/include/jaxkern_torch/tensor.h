// Tensor: a strided view of device memory that it shares with others.
#pragma once
#include "accessor.h"
#include "array_ref.h"
#include "memory.h"
#include "options.h"

namespace c10 {

constexpr int kMostDims = 12;

class Tensor {
 public:
  Tensor() = default;
  Tensor(const Tensor& other) { *this = other; }
  Tensor(Tensor&& other) noexcept { Swap(other); }
  ~Tensor() { detail::Release(storage_); }
  Tensor& operator=(const Tensor& other) {
    if (other.storage_ != nullptr) {
      __atomic_add_fetch(&other.storage_->references, 1, __ATOMIC_RELAXED);
    }
    detail::Release(storage_);
    CopyFields(other);
    return *this;
  }
  Tensor& operator=(Tensor&& other) noexcept {
    Swap(other);
    return *this;
  }

  /// Takes over one reference to `storage`.
  static Tensor Over(detail::Storage* storage, ScalarType type,
                     IntArrayRef sizes) {
    Tensor tensor;
    tensor.storage_ = storage;
    tensor.type_ = type;
    tensor.SetSizes(sizes);
    return tensor;
  }

  bool defined() const { return storage_ != nullptr; }
  int64_t dim() const { return dim_; }
  int64_t ndimension() const { return dim_; }
  IntArrayRef sizes() const { return {sizes_, size_t(dim_)}; }
  IntArrayRef strides() const { return {strides_, size_t(dim_)}; }
  int64_t size(int64_t d) const { return sizes_[Dim(d)]; }
  int64_t stride(int64_t d) const { return strides_[Dim(d)]; }
  int64_t numel() const {
    int64_t elements = 1;
    for (int i = 0; i < dim_; ++i) elements *= sizes_[i];
    return elements;
  }
  int64_t storage_offset() const { return offset_; }
  size_t element_size() const { return elementSize(type_); }
  size_t itemsize() const { return element_size(); }
  size_t nbytes() const { return element_size() * size_t(numel()); }

  TypeMeta dtype() const { return type_; }
  ScalarType scalar_type() const { return type_; }
  Device device() const { return Device(kCUDA, 0); }
  TensorOptions options() const { return TensorOptions(type_).device(kCUDA); }
  DeprecatedType type() const { return DeprecatedType{type_}; }
  int64_t get_device() const { return 0; }
  bool is_cuda() const { return true; }
  bool is_cpu() const { return false; }
  bool is_floating_point() const { return isFloatingType(type_); }
  bool is_sparse() const { return false; }
  bool is_meta() const { return false; }
  bool is_quantized() const { return false; }
  bool is_complex() const { return false; }
  bool requires_grad() const { return false; }
  bool is_same(const Tensor& other) const { return storage_ == other.storage_; }
  bool is_contiguous(MemoryFormat = MemoryFormat::Contiguous) const {
    int64_t expected = 1;
    for (int i = dim_; i-- > 0;) {
      if (sizes_[i] != 1 && strides_[i] != expected) return false;
      expected *= sizes_[i];
    }
    return true;
  }

  template <class T>
  T* data_ptr() const {
    if (detail::TypeOf<T>::value != type_) {
      detail::Raise("expected scalar type ", toString(detail::TypeOf<T>::value),
                    " but found ", toString(type_));
    }
    return static_cast<T*>(data_ptr());
  }
  void* data_ptr() const {
    return storage_ == nullptr || storage_->data == nullptr
               ? nullptr
               : static_cast<char*>(storage_->data) +
                     offset_ * int64_t(element_size());
  }
  template <class T>
  T* mutable_data_ptr() const {
    return data_ptr<T>();
  }
  void* mutable_data_ptr() const { return data_ptr(); }
  template <class T>
  const T* const_data_ptr() const {
    return data_ptr<T>();
  }
  const void* const_data_ptr() const { return data_ptr(); }
  template <class T>
  T* data() const {
    return data_ptr<T>();
  }

  template <class T, size_t N, template <class> class Traits = DefaultPtrTraits>
  PackedTensorAccessor32<T, N, Traits> packed_accessor32() const {
    return Packed<PackedTensorAccessor32<T, N, Traits>>();
  }
  template <class T, size_t N, template <class> class Traits = DefaultPtrTraits>
  PackedTensorAccessor64<T, N, Traits> packed_accessor64() const {
    return Packed<PackedTensorAccessor64<T, N, Traits>>();
  }
  template <class T, size_t N, template <class> class Traits = DefaultPtrTraits>
  PackedTensorAccessor64<T, N, Traits> packed_accessor() const {
    return packed_accessor64<T, N, Traits>();
  }

  // Views. What would have to move data is refused: that is a kernel's work.
  Tensor contiguous(MemoryFormat = MemoryFormat::Contiguous) const {
    if (is_contiguous()) return *this;
    detail::Unsupported(
        "contiguous() of a transposed or cut tensor would copy it in another "
        "order, which is a kernel's work");
  }
  Tensor view(IntArrayRef sizes) const;
  Tensor reshape(IntArrayRef sizes) const { return view(sizes); }
  Tensor view_as(const Tensor& other) const { return view(other.sizes()); }
  Tensor reshape_as(const Tensor& other) const { return view(other.sizes()); }
  Tensor flatten(int64_t from = 0, int64_t to = -1) const;
  Tensor squeeze() const;
  Tensor squeeze(int64_t d) const;
  Tensor unsqueeze(int64_t d) const;
  Tensor transpose(int64_t a, int64_t b) const;
  Tensor t() const { return dim_ < 2 ? *this : transpose(0, 1); }
  Tensor permute(IntArrayRef order) const;
  Tensor narrow(int64_t d, int64_t from, int64_t count) const;
  Tensor slice(int64_t d, int64_t from, int64_t to) const {
    return narrow(d, from, (to < size(d) ? to : size(d)) - from);
  }
  Tensor select(int64_t d, int64_t index) const;
  Tensor expand(IntArrayRef sizes) const;
  Tensor expand_as(const Tensor& other) const { return expand(other.sizes()); }
  Tensor as_strided(IntArrayRef sizes, IntArrayRef strides) const {
    return as_strided(sizes, strides, offset_);
  }
  Tensor as_strided(IntArrayRef sizes, IntArrayRef strides,
                    int64_t offset) const;
  Tensor unflatten(int64_t d, IntArrayRef sizes) const;
  Tensor movedim(int64_t from, int64_t to) const;
  Tensor swapaxes(int64_t a, int64_t b) const { return transpose(a, b); }
  Tensor swapdims(int64_t a, int64_t b) const { return transpose(a, b); }
  Tensor mT() const { return transpose(-2, -1); }
  Tensor& squeeze_() { return *this = squeeze(); }
  Tensor& squeeze_(int64_t d) { return *this = squeeze(d); }
  Tensor& unsqueeze_(int64_t d) { return *this = unsqueeze(d); }
#ifdef JAXKERN_TORCH_VECTOR
  std::vector<Tensor> split(int64_t count, int64_t d = 0) const;
  std::vector<Tensor> split(IntArrayRef counts, int64_t d = 0) const;
  std::vector<Tensor> chunk(int64_t chunks, int64_t d = 0) const;
  std::vector<Tensor> unbind(int64_t d = 0) const;
#endif
  Tensor operator[](int64_t index) const { return select(0, index); }
  Tensor detach() const { return *this; }
  Tensor cuda() const { return *this; }
  Tensor to(ScalarType type) const;
  Tensor toType(ScalarType type) const { return to(type); }
  Tensor to(Device) const { return *this; }
  Tensor to(TensorOptions options) const {
    return options.has_dtype() ? to(options.dtype_of()) : *this;
  }

  Tensor clone() const;
  Tensor new_empty(IntArrayRef sizes) const { return new_empty(sizes, {}); }
  Tensor new_empty(IntArrayRef sizes, TensorOptions options) const;
  Tensor new_zeros(IntArrayRef sizes) const { return new_zeros(sizes, {}); }
  Tensor new_zeros(IntArrayRef sizes, TensorOptions options) const;
  Tensor new_ones(IntArrayRef sizes) const { return new_full(sizes, 1); }
  Tensor new_ones(IntArrayRef sizes, TensorOptions options) const {
    return new_full(sizes, 1, options);
  }
  template <class T>
  Tensor new_full(IntArrayRef sizes, T value, TensorOptions other = {}) const {
    Tensor result = new_empty(sizes, other);
    result.fill_(value);
    return result;
  }
  Tensor& copy_(const Tensor& from, bool non_blocking = false);
  Tensor& zero_() { return fill_(0); }
  template <class T>
  Tensor& fill_(T value);
  /// Waits for the stream.
  template <class T>
  T item() const;

  detail::Storage* storage() const { return storage_; }

 private:
  size_t Dim(int64_t d) const { return Dim(d, dim_); }
  static size_t Dim(int64_t d, int64_t dims) {
    if (d < -dims || d >= dims) {
      detail::Raise("Dimension out of range: got ", d, " of ", dims,
                    " dimensions");
    }
    return size_t(d < 0 ? d + dims : d);
  }

  void SetSizes(IntArrayRef sizes) {
    if (sizes.size() > size_t(kMostDims)) {
      detail::Unsupported("tensors of more than 12 dimensions");
    }
    dim_ = int(sizes.size());
    int64_t stride = 1;
    for (int i = dim_; i-- > 0;) {
      sizes_[i] = sizes[size_t(i)];
      strides_[i] = stride;
      stride *= sizes_[i] < 1 ? 1 : sizes_[i];
    }
  }

  void CopyFields(const Tensor& other) {
    storage_ = other.storage_;
    offset_ = other.offset_;
    dim_ = other.dim_;
    type_ = other.type_;
    for (int i = 0; i < dim_; ++i) {
      sizes_[i] = other.sizes_[i];
      strides_[i] = other.strides_[i];
    }
  }

  void Swap(Tensor& other) {
    char mine[sizeof(Tensor)];
    memcpy(mine, static_cast<void*>(this), sizeof(Tensor));
    memcpy(static_cast<void*>(this), static_cast<void*>(&other),
           sizeof(Tensor));
    memcpy(static_cast<void*>(&other), mine, sizeof(Tensor));
  }

  template <class Accessor>
  Accessor Packed() const {
    if (dim_ != int(Accessor::kDims)) {
      detail::Raise("expected ", Accessor::kDims, " dims but tensor has ",
                    dim_);
    }
    return Accessor(data_ptr<typename Accessor::Element>(), sizes_, strides_);
  }

  detail::Storage* storage_ = nullptr;
  int64_t offset_ = 0;  // in elements
  int dim_ = 0;
  ScalarType type_ = ScalarType::Undefined;
  int64_t sizes_[kMostDims] = {}, strides_[kMostDims] = {};
};

namespace detail {
inline Message& operator<<(Message& message, const Tensor& tensor) {
  return message << "a tensor of " << toString(tensor.scalar_type()) << " "
                 << tensor.sizes();
}
}  // namespace detail
}  // namespace c10

#include "views.h"

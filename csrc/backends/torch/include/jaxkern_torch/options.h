// Devices, and what a new tensor shall be like.
#pragma once
#include "scalar_type.h"

namespace c10 {

enum class DeviceType : signed char { CPU = 0, CUDA = 1 };
constexpr DeviceType kCPU = DeviceType::CPU;
constexpr DeviceType kCUDA = DeviceType::CUDA;
using DeviceIndex = signed char;

struct Device {
  constexpr Device(DeviceType type, int index = -1)
      : type_(type), index_(index) {}
  Device(const char* name)
      : type_(strncmp(name, "cpu", 3) == 0 ? kCPU : kCUDA), index_(-1) {}
  DeviceType type() const { return type_; }
  int index() const { return index_ < 0 ? 0 : index_; }
  bool is_cuda() const { return type_ == kCUDA; }
  bool is_cpu() const { return type_ == kCPU; }
  const char* str() const { return is_cuda() ? "cuda:0" : "cpu"; }

 private:
  DeviceType type_;
  int index_;
};
inline bool operator==(Device a, Device b) { return a.type() == b.type(); }
inline bool operator!=(Device a, Device b) { return !(a == b); }
namespace detail {
inline Message& operator<<(Message& message, Device device) {
  return message << device.str();
}
inline Message& operator<<(Message& message, DeviceType type) {
  return message << (type == kCUDA ? "cuda" : "cpu");
}
}  // namespace detail

enum class Layout : signed char { Strided };
constexpr Layout kStrided = Layout::Strided;
enum class MemoryFormat : signed char {
  Contiguous,
  Preserve,
  ChannelsLast,
  ChannelsLast3d
};

class TensorOptions {
 public:
  constexpr TensorOptions() = default;
  constexpr TensorOptions(ScalarType type) : type_(type) {}
  constexpr TensorOptions(TypeMeta type) : type_(type) {}
  TensorOptions(Device device) : TensorOptions(device.type()) {}
  constexpr TensorOptions(DeviceType device)
      : device_(device), has_device_(true) {}
  constexpr TensorOptions(Layout) {}

  TensorOptions dtype(ScalarType type) const {
    TensorOptions options = *this;
    options.type_ = type;
    return options;
  }
  template <class T>
  TensorOptions dtype() const {
    return dtype(detail::TypeOf<T>::value);
  }
  TensorOptions device(Device device) const {
    TensorOptions options = *this;
    options.device_ = device.type();
    options.has_device_ = true;
    return options;
  }
  TensorOptions device(DeviceType type, int = -1) const {
    return device(Device(type));
  }
  TensorOptions layout(Layout) const { return *this; }
  TensorOptions requires_grad(bool) const { return *this; }
  TensorOptions memory_format(MemoryFormat) const { return *this; }
  TensorOptions pinned_memory(bool) const { return *this; }

  TypeMeta dtype() const { return dtype_of(); }
  Device device() const { return Device(device_); }
  bool has_dtype() const { return type_ != ScalarType::Undefined; }
  bool has_device() const { return has_device_; }
  ScalarType dtype_of() const {
    return has_dtype() ? type_ : ScalarType::Float;
  }
  /// What is not said here is as in `other`.
  TensorOptions Or(TensorOptions other) const {
    if (has_dtype()) other.type_ = type_;
    if (has_device_) other.device_ = device_;
    return other;
  }

 private:
  ScalarType type_ = ScalarType::Undefined;
  DeviceType device_ = kCPU;  // as torch has it
  bool has_device_ = false;
};

/// What the deprecated `x.type()` gives.
struct DeprecatedType {
  ScalarType type;
  operator ScalarType() const { return type; }
  ScalarType scalarType() const { return type; }
  bool is_cuda() const { return true; }
  const char* c_str() const { return toString(type); }
};

inline TensorOptions dtype(ScalarType type) { return TensorOptions(type); }
inline TensorOptions device(Device device) {
  return TensorOptions().device(device);
}
inline TensorOptions layout(Layout) { return {}; }
inline TensorOptions requires_grad(bool = true) { return {}; }

}  // namespace c10

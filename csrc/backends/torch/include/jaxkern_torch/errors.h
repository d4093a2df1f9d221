// Errors, their messages, and the macros that raise them.
#pragma once
#ifndef __CUDACC_RTC__
#include <cuda_runtime.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <exception>

#include "marks.h"

// For what is neither called by kernels nor often: half of the time to compile
// it would go into making it fast. nvcc's front end does not know the words,
// and what it would make fast is fast on the cuda device's other road, too.
#if (defined(JAXKERN_CUDA_ERRORS) || !defined(__CUDACC__)) && \
    !defined(JAXKERN_SPLIT_H_)
#define JAXKERN_TORCH_COLD \
  _Pragma("GCC push_options") _Pragma("GCC optimize(\"O0\")")
#define JAXKERN_TORCH_END_COLD _Pragma("GCC pop_options")
#else
#define JAXKERN_TORCH_COLD
#define JAXKERN_TORCH_END_COLD
#endif

JAXKERN_TORCH_COLD
namespace c10 {

/// What is raised. The message is cut at a length that is enough to read.
class Error : public std::exception {
 public:
  explicit Error(const char* message) {
    snprintf(message_, sizeof message_, "%s", message);
  }
  const char* what() const noexcept override { return message_; }
  const char* what_without_backtrace() const { return message_; }

 private:
  char message_[600];
};

namespace detail {

/// A message put together from parts, without the C++ library's streams.
class Message {
 public:
  Message() { text_[0] = 0; }
  const char* text() const { return text_; }

  Message& operator<<(const char* part) {
    const size_t room = sizeof text_ - 1 - used_;
    size_t bytes = part == nullptr ? 0 : strlen(part);
    if (bytes > room) bytes = room;
    memcpy(text_ + used_, part, bytes);
    used_ += bytes;
    text_[used_] = 0;
    return *this;
  }
  Message& operator<<(bool value) {
    return *this << (value ? "true" : "false");
  }
  Message& operator<<(char value) {
    const char part[2] = {value, 0};
    return *this << part;
  }
  Message& operator<<(int value) { return *this << (long long)value; }
  Message& operator<<(unsigned value) { return *this << (long long)value; }
  Message& operator<<(long value) { return *this << (long long)value; }
  Message& operator<<(unsigned long value) { return Number("%lu", value); }
  Message& operator<<(long long value) { return Number("%lld", value); }
  Message& operator<<(double value) { return Number("%g", value); }
  /// std::string and what is like it.
  template <class T>
  auto operator<<(const T& value) -> decltype(value.c_str(), *this) {
    return *this << value.c_str();
  }

 private:
  template <class T>
  Message& Number(const char* format, T value) {
    char part[40];
    snprintf(part, sizeof part, format, value);
    return *this << part;
  }

  char text_[600];
  size_t used_ = 0;
};

inline void Put(Message&) {}
template <class T, class... More>
void Put(Message& message, const T& part, const More&... more) {
  message << part;
  Put(message, more...);
}

template <class... Parts>
[[noreturn]] void Raise(const Parts&... parts) {
  Message message;
  Put(message, parts...);
  throw Error(message.text());
}

/// For what this header could do and does not.
template <class... Parts>
[[noreturn]] void Unsupported(const Parts&... parts) {
  Raise(JAXKERN_TORCH_UNSUPPORTED, parts...);
}

template <class... Parts>
[[noreturn]] void CheckFailed(const char* condition, const Parts&... parts) {
  if (sizeof...(parts) == 0) Raise("Expected ", condition, " to be true");
  Raise(parts...);
}

inline void CheckCuda(cudaError_t error) {
  if (error != cudaSuccess) {
    Raise("CUDA error: ", cudaGetErrorString(error));
  }
}

}  // namespace detail
}  // namespace c10
JAXKERN_TORCH_END_COLD
#endif  // __CUDACC_RTC__

#define TORCH_CHECK(condition, ...)                          \
  do {                                                       \
    if (!(condition)) {                                      \
      ::c10::detail::CheckFailed(#condition, ##__VA_ARGS__); \
    }                                                        \
  } while (false)
#define TORCH_CHECK_VALUE TORCH_CHECK
#define TORCH_CHECK_INDEX TORCH_CHECK
#define TORCH_CHECK_TYPE TORCH_CHECK
#define TORCH_CHECK_ARG(condition, number, ...) \
  TORCH_CHECK(condition, ##__VA_ARGS__)
#define TORCH_CHECK_NOT_IMPLEMENTED TORCH_CHECK
#define TORCH_INTERNAL_ASSERT TORCH_CHECK
#define TORCH_INTERNAL_ASSERT_DEBUG_ONLY TORCH_CHECK
#define TORCH_CHECK_EQ(a, b) TORCH_CHECK((a) == (b))
#define TORCH_CHECK_NE(a, b) TORCH_CHECK((a) != (b))
#define TORCH_CHECK_LT(a, b) TORCH_CHECK((a) < (b))
#define TORCH_CHECK_LE(a, b) TORCH_CHECK((a) <= (b))
#define TORCH_CHECK_GT(a, b) TORCH_CHECK((a) > (b))
#define TORCH_CHECK_GE(a, b) TORCH_CHECK((a) >= (b))
#define AT_ASSERT TORCH_CHECK
#define AT_ASSERTM TORCH_CHECK
#define AT_ERROR(...) ::c10::detail::Raise(__VA_ARGS__)
#define TORCH_WARN(...) \
  do {                  \
  } while (false)
#define TORCH_WARN_ONCE TORCH_WARN

#define C10_CUDA_CHECK(call) ::c10::detail::CheckCuda(call)
#define AT_CUDA_CHECK C10_CUDA_CHECK
#define TORCH_CUDA_CHECK C10_CUDA_CHECK
#define C10_CUDA_KERNEL_LAUNCH_CHECK() C10_CUDA_CHECK(cudaGetLastError())
#define TORCH_CUDA_KERNEL_LAUNCH_CHECK C10_CUDA_KERNEL_LAUNCH_CHECK

#define C10_HOST_DEVICE __host__ __device__
#define C10_DEVICE __device__
#define C10_HOST __host__
#define C10_RESTRICT __restrict__
#define C10_ALWAYS_INLINE inline __attribute__((always_inline))
#define C10_LIKELY(x) __builtin_expect(static_cast<bool>(x), 1)
#define C10_UNLIKELY(x) __builtin_expect(static_cast<bool>(x), 0)
#define C10_EXPORT
#define C10_API
#define TORCH_API
#define C10_UNUSED __attribute__((unused))
#define C10_LAUNCH_BOUNDS_1(n) __launch_bounds__(n)
#define C10_LAUNCH_BOUNDS_2(n, m) __launch_bounds__(n, m)
#define C10_WARP_SIZE 32

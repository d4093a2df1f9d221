// at::Half and at::BFloat16, for host and device.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#define JAXKERN_TORCH_SMALL(Name, Native, to_float, from_float)   \
  struct alignas(2) Name {                                        \
    unsigned short x;                                             \
    Name() = default;                                             \
    __host__ __device__ Name(float value) {                       \
      const Native native = from_float(value);                    \
      x = *reinterpret_cast<const unsigned short*>(&native);      \
    }                                                             \
    __host__ __device__ Name(const Native& native)                \
        : x(*reinterpret_cast<const unsigned short*>(&native)) {} \
    __host__ __device__ operator float() const {                  \
      return to_float(*reinterpret_cast<const Native*>(&x));      \
    }                                                             \
    __host__ __device__ operator Native() const {                 \
      return *reinterpret_cast<const Native*>(&x);                \
    }                                                             \
  };                                                              \
  JAXKERN_TORCH_ARITHMETIC(Name, +)                               \
  JAXKERN_TORCH_ARITHMETIC(Name, -)                               \
  JAXKERN_TORCH_ARITHMETIC(Name, *)                               \
  JAXKERN_TORCH_ARITHMETIC(Name, /)                               \
  JAXKERN_TORCH_COMPARISON(Name, ==)                              \
  JAXKERN_TORCH_COMPARISON(Name, !=)                              \
  JAXKERN_TORCH_COMPARISON(Name, <)                               \
  JAXKERN_TORCH_COMPARISON(Name, >)                               \
  JAXKERN_TORCH_COMPARISON(Name, <=)                              \
  JAXKERN_TORCH_COMPARISON(Name, >=)                              \
  __host__ __device__ inline Name operator-(Name a) { return -float(a); }

// As torch: with another of its kind or an integer its own type, with a float
// or double theirs.
#define JAXKERN_TORCH_ARITHMETIC(Name, op)                               \
  __host__ __device__ inline Name operator op(Name a, Name b) {          \
    return float(a) op float(b);                                         \
  }                                                                      \
  __host__ __device__ inline Name& operator op## = (Name & a, Name b) {  \
    return a = a op b;                                                   \
  }                                                                      \
  __host__ __device__ inline float operator op(Name a, float b) {        \
    return float(a) op b;                                                \
  }                                                                      \
  __host__ __device__ inline float operator op(float a, Name b) {        \
    return a op float(b);                                                \
  }                                                                      \
  __host__ __device__ inline float& operator op## = (float& a, Name b) { \
    return a = a op float(b);                                            \
  }                                                                      \
  __host__ __device__ inline double operator op(Name a, double b) {      \
    return double(float(a)) op b;                                        \
  }                                                                      \
  __host__ __device__ inline double operator op(double a, Name b) {      \
    return a op double(float(b));                                        \
  }                                                                      \
  __host__ __device__ inline Name operator op(Name a, int b) {           \
    return float(a) op float(b);                                         \
  }                                                                      \
  __host__ __device__ inline Name operator op(int a, Name b) {           \
    return float(a) op float(b);                                         \
  }                                                                      \
  __host__ __device__ inline Name operator op(Name a, int64_t b) {       \
    return float(a) op float(b);                                         \
  }                                                                      \
  __host__ __device__ inline Name operator op(int64_t a, Name b) {       \
    return float(a) op float(b);                                         \
  }

#define JAXKERN_TORCH_COMPARISON(Name, op)                        \
  __host__ __device__ inline bool operator op(Name a, Name b) {   \
    return float(a) op float(b);                                  \
  }                                                               \
  __host__ __device__ inline bool operator op(Name a, float b) {  \
    return float(a) op b;                                         \
  }                                                               \
  __host__ __device__ inline bool operator op(float a, Name b) {  \
    return a op float(b);                                         \
  }                                                               \
  __host__ __device__ inline bool operator op(Name a, double b) { \
    return double(float(a)) op b;                                 \
  }                                                               \
  __host__ __device__ inline bool operator op(double a, Name b) { \
    return a op double(float(b));                                 \
  }                                                               \
  __host__ __device__ inline bool operator op(Name a, int b) {    \
    return float(a) op float(b);                                  \
  }                                                               \
  __host__ __device__ inline bool operator op(int a, Name b) {    \
    return float(a) op float(b);                                  \
  }

namespace c10 {
JAXKERN_TORCH_SMALL(Half, __half, __half2float, __float2half)
JAXKERN_TORCH_SMALL(BFloat16, __nv_bfloat16, __bfloat162float, __float2bfloat16)
}  // namespace c10
#undef JAXKERN_TORCH_SMALL
#undef JAXKERN_TORCH_ARITHMETIC
#undef JAXKERN_TORCH_COMPARISON

// What a function's parameters want, and which of the task's arguments they
// get.
#pragma once
#include "torch.h"

JAXKERN_TORCH_COLD
namespace jaxkern_torch {

using c10::Tensor;

/// What a parameter wants, or an argument of the task is.
enum class Kind : char { kTensor, kInteger, kFloat, kBool, kOther };

/// One of the task's inputs, outputs or attributes.
struct Argument {
  const char* name;
  Kind kind;
  bool output;
  void* pointer;  ///< to the array, or to the attribute's value
  c10::ScalarType type;
  int dims;
  int64_t sizes[c10::kMostDims];
};

/// A parameter as the candidate's text has it, if it could be read there.
struct Parameter {
  const char* name;
  const char* literal;  ///< a value that the caller passes; null: none
};

template <class T>
struct Plain {
  using type = T;
};
template <class T>
struct Plain<const T> : Plain<T> {};
template <class T>
struct Plain<T&> : Plain<T> {};
template <class T>
struct Plain<T&&> : Plain<T> {};

template <class T>
struct KindOf {
  static constexpr Kind value = Kind::kOther;
  static constexpr bool optional = false;
};
template <Kind kind, bool is_optional = false>
struct KindIs {
  static constexpr Kind value = kind;
  static constexpr bool optional = is_optional;
};
template <>
struct KindOf<Tensor> : KindIs<Kind::kTensor> {};
template <>
struct KindOf<bool> : KindIs<Kind::kBool> {};
template <>
struct KindOf<float> : KindIs<Kind::kFloat> {};
template <>
struct KindOf<double> : KindIs<Kind::kFloat> {};
template <>
struct KindOf<int> : KindIs<Kind::kInteger> {};
template <>
struct KindOf<unsigned> : KindIs<Kind::kInteger> {};
template <>
struct KindOf<long> : KindIs<Kind::kInteger> {};
template <>
struct KindOf<unsigned long> : KindIs<Kind::kInteger> {};
template <>
struct KindOf<long long> : KindIs<Kind::kInteger> {};
template <>
struct KindOf<unsigned long long> : KindIs<Kind::kInteger> {};
#ifdef JAXKERN_TORCH_OPTIONAL
template <class T>
struct KindOf<std::optional<T>> : KindIs<KindOf<T>::value, true> {};
#endif

/// The kinds of a function's parameters.
template <class F>
struct Signature;
template <class R, class... P>
struct Signature<R (*)(P...)> {
  static constexpr int kCount = sizeof...(P);
  static constexpr int kOptional =
      (0 + ... + int(KindOf<typename Plain<P>::type>::optional));
  /// Not a static array: its symbol would be unique.
  struct Kinds {
    Kind at[kCount + 1];
  };
  static constexpr Kinds All() {
    return {{KindOf<typename Plain<P>::type>::value..., Kind::kOther}};
  }
  static constexpr int Count(Kind kind) {
    int count = 0;
    for (int i = 0; i < kCount; ++i) count += All().at[i] == kind;
    return count;
  }
  /// Of this kind, without those that have a literal.
  static constexpr int Free(Kind kind, const bool* literal) {
    int count = 0;
    for (int i = 0; i < kCount; ++i) {
      count += All().at[i] == kind && !literal[i];
    }
    return count;
  }
  static constexpr bool kReturns = true;
};
template <class... P>
struct Signature<void (*)(P...)> : Signature<int (*)(P...)> {
  static constexpr bool kReturns = false;
};

constexpr int kMostParameters = 64;

/// Which argument each parameter gets; -1: none, or a literal.
struct Plan {
  bool made = false;
  int from[kMostParameters] = {};
};
static Plan plan;

inline bool SameName(const Parameter& parameter, const Argument& argument) {
  return parameter.name != nullptr && argument.name != nullptr &&
         strcmp(parameter.name, argument.name) == 0;
}

/// Whether the tensors are to be told by their names: each has one of the
/// task's, and no input is left out. `add(x, y)` may mean two inputs.
inline bool AllNamed(const Kind* kinds, const Parameter* parameters, int count,
                     const Argument* arguments, int argument_count) {
  for (int i = 0; i < count; ++i) {
    bool known = kinds[i] != Kind::kTensor;
    for (int j = 0; j < argument_count; ++j) {
      known |= SameName(parameters[i], arguments[j]);
    }
    if (!known) return false;
  }
  for (int j = 0; j < argument_count; ++j) {
    bool taken = arguments[j].kind != Kind::kTensor || arguments[j].output;
    for (int i = 0; i < count; ++i) {
      taken |= SameName(parameters[i], arguments[j]);
    }
    if (!taken) return false;
  }
  return true;
}

/// Parameters that bear an attribute's name get it, others the next one of
/// their kind. Tensors come in the task's order, inputs before outputs, unless
/// all bear their names.
inline void MakePlan(const Kind* kinds, const Parameter* parameters, int count,
                     const Argument* arguments, int argument_count) {
  const bool all_named =
      AllNamed(kinds, parameters, count, arguments, argument_count);
  bool used[kMostParameters] = {};
  for (int i = 0; i < count; ++i) plan.from[i] = -1;
  for (const bool by_name : {true, false}) {
    for (int i = 0; i < count; ++i) {
      if (plan.from[i] >= 0 || parameters[i].literal != nullptr ||
          (by_name && kinds[i] == Kind::kTensor && !all_named)) {
        continue;
      }
      for (int j = 0; j < argument_count && plan.from[i] < 0; ++j) {
        if (used[j] || arguments[j].kind != kinds[i] ||
            (by_name && !SameName(parameters[i], arguments[j]))) {
          continue;
        }
        used[j] = true;
        plan.from[i] = j;
      }
    }
  }
  plan.made = true;
}

}  // namespace jaxkern_torch
JAXKERN_TORCH_END_COLD

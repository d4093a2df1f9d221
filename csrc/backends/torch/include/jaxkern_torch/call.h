// From the evaluator's array of pointers to a function on tensors, and back.
// Included behind the candidate's text.
#pragma once
#include "signature.h"

JAXKERN_TORCH_COLD
namespace jaxkern_torch {

using c10::detail::Raise;
using c10::detail::Storage;

/// By output: the allocation that became it in the last call.
static int wanted[c10::detail::kMostOutputs];

/// A call with what it lends to the candidate. Its end takes that back.
class Session {
 public:
  Session(Argument* arguments, int count, cudaStream_t stream)
      : arguments_(arguments), count_(count) {
    auto& call = c10::detail::call;
    call.stream = stream;
    call.allocations = 0;
    call.output_count = 0;
    call.open = true;
    for (int i = 0; i < count; ++i) {
      const Argument& a = arguments[i];
      if (!a.output) continue;
      const int k = call.output_count++;
      int64_t elements = 1;
      for (int d = 0; d < a.dims; ++d) elements *= a.sizes[d];
      call.outputs[k] = {a.pointer, a.type, elements, wanted[k] - 1, nullptr};
    }
  }
  ~Session() {
    auto& call = c10::detail::call;
    call.open = false;
    for (int i = 0; i < lent_count_; ++i) {
      if (lent_[i]->references > 1) TakeBack(lent_[i]);
      c10::detail::Release(lent_[i]);
    }
    for (int i = 0; i < call.output_count; ++i) {
      Storage* kept = call.outputs[i].storage;
      call.outputs[i].storage = nullptr;
      if (kept != nullptr) TakeBack(kept);
    }
    call.output_count = 0;
  }
  Session(const Session&) = delete;

  /// The argument as a tensor.
  Tensor Lend(int i) {
    const Argument& a = arguments_[i];
    auto* storage = new Storage;
    storage->data = a.pointer;
    storage->references = 2;
    lent_[lent_count_++] = storage;
    const Tensor tensor =
        Tensor::Over(storage, a.type, {a.sizes, size_t(a.dims)});
    storage->bytes = tensor.nbytes();
    if (a.output) MarkTaken(a.pointer);
    return tensor;
  }

  double Number(int i) const {
    const Argument& a = arguments_[i];
    switch (a.kind) {
      case Kind::kInteger:
        return double(*static_cast<int64_t*>(a.pointer));
      case Kind::kBool:
        return *static_cast<bool*>(a.pointer);
      default:
        return *static_cast<float*>(a.pointer);
    }
  }
  int64_t Integer(int i) const {
    return *static_cast<int64_t*>(arguments_[i].pointer);
  }

 private:
  /// An output that is passed to the function is not handed out besides.
  void MarkTaken(const void* data) {
    auto& call = c10::detail::call;
    for (int i = 0; i < call.output_count; ++i) {
      if (call.outputs[i].data == data) call.outputs[i].elements = -1;
    }
  }
  static void TakeBack(Storage* storage) {
    try {
      c10::detail::Own(storage);
    } catch (...) {
      storage->data = nullptr;
    }
  }

  Argument* arguments_;
  int count_;
  Storage* lent_[kMostParameters];
  int lent_count_ = 0;
};

/// A parameter's value.
template <class T>
struct Value {
  static T Get(Session& session, int from, const char* literal) {
    if (from < 0 && literal == nullptr) {
      c10::detail::Unsupported("no argument of the task for a parameter");
    }
    if constexpr (KindOf<T>::value == Kind::kTensor) {
      return session.Lend(from);
    } else if constexpr (KindOf<T>::value == Kind::kInteger) {
      return literal != nullptr ? T(atoll(literal)) : T(session.Integer(from));
    } else {
      return literal != nullptr ? T(atof(literal)) : T(session.Number(from));
    }
  }
};
#ifdef JAXKERN_TORCH_OPTIONAL
template <class T>
struct Value<std::optional<T>> {
  static std::optional<T> Get(Session& session, int from, const char* literal) {
    if (from < 0 && literal == nullptr) return std::nullopt;
    return Value<T>::Get(session, from, literal);
  }
};
#endif

template <class... P>
struct Types {};

// What is returned by reference may be one of the values bound here.
template <class R, class... P, class... Bound>
typename Plain<R>::type Apply(R (*f)(P...), Session&, const Parameter*, Types<>,
                              Bound&... bound) {
  return f(bound...);
}
template <class R, class... P, class First, class... Rest, class... Bound>
typename Plain<R>::type Apply(R (*f)(P...), Session& session,
                              const Parameter* parameters,
                              Types<First, Rest...>, Bound&... bound) {
  constexpr int i = sizeof...(Bound);
  auto value = Value<typename Plain<First>::type>::Get(session, plan.from[i],
                                                       parameters[i].literal);
  return Apply(f, session, parameters, Types<Rest...>(), bound..., value);
}

/// The tensors that a function returned.
struct Returned {
  const Tensor* tensors[c10::detail::kMostOutputs];
  int count = 0;
  void Add(const Tensor& tensor) {
    if (count < c10::detail::kMostOutputs) tensors[count] = &tensor;
    ++count;
  }
#ifdef JAXKERN_TORCH_VECTOR
  void Add(const std::vector<Tensor>& all) {
    for (const Tensor& tensor : all) Add(tensor);
  }
#endif
#ifdef JAXKERN_TORCH_TUPLE
  template <class... T>
  void Add(const std::tuple<T...>& all) {
    std::apply([this](const auto&... each) { (Add(each), ...); }, all);
  }
  template <class A, class B>
  void Add(const std::pair<A, B>& both) {
    Add(both.first);
    Add(both.second);
  }
#endif
#ifdef JAXKERN_TORCH_ARRAY
  template <size_t N>
  void Add(const std::array<Tensor, N>& all) {
    for (const Tensor& tensor : all) Add(tensor);
  }
#endif
};

inline void CheckOutput(const Tensor& got, const Argument& wants,
                        const char* function) {
  const c10::IntArrayRef sizes(wants.sizes, size_t(wants.dims));
  if (!got.defined()) {
    Raise(JAXKERN_TORCH_WRONG, function, " returned an undefined tensor as ",
          wants.name);
  }
  if (got.sizes() != sizes) {
    Raise(JAXKERN_TORCH_WRONG, function, " returned a tensor of shape ",
          got.sizes(), " as ", wants.name, ", expected ", sizes);
  }
  if (got.scalar_type() != wants.type) {
    Raise(JAXKERN_TORCH_WRONG, function, " returned a tensor of type ",
          toString(got.scalar_type()), " as ", wants.name, ", expected ",
          toString(wants.type));
  }
  if (!got.is_contiguous()) {
    Raise(JAXKERN_TORCH_WRONG, function, " returned as ", wants.name,
          " a view with strides ", got.strides(),
          ", expected a contiguous tensor");
  }
}

/// Into the task's outputs, unless they are there already.
inline void Deliver(const Returned& returned, const Argument* arguments,
                    int count, const char* function) {
  auto& call = c10::detail::call;
  call.open = false;
  if (returned.count != call.output_count) {
    Raise(JAXKERN_TORCH_WRONG, function, " returned ", returned.count,
          " tensors, expected ", call.output_count);
  }
  Tensor moved[c10::detail::kMostOutputs];
  for (int i = 0, k = 0; i < count; ++i) {
    if (!arguments[i].output) continue;
    const Tensor& got = *returned.tensors[k];
    CheckOutput(got, arguments[i], function);
    const Storage* storage = got.storage();
    wanted[k] = storage->ordinal + 1;
    bool elsewhere = false;  // in another output, which a copy may hit first
    for (int j = 0; j < call.output_count; ++j) {
      elsewhere |= j != k && call.outputs[j].storage == storage;
    }
    moved[k++] = elsewhere ? got.clone() : got;
  }
  for (int k = 0; k < call.output_count; ++k) {
    void* to = call.outputs[k].data;
    if (moved[k].data_ptr() == to || moved[k].nbytes() == 0) continue;
    c10::detail::CheckCuda(
        cudaMemcpyAsync(to, moved[k].data_ptr(), moved[k].nbytes(),
                        cudaMemcpyDeviceToDevice, call.stream));
  }
}

/// Calls `f` with the task's arguments. What it may take was checked by Fits.
template <template <class> class Fits, class R, class... P>
int Call(const char* name, R (*f)(P...), const Parameter* parameters,
         Argument* arguments, int count, cudaStream_t stream) {
  using S = Fits<R (*)(P...)>;
  static_assert(sizeof(S) > 0 && S::kCount < kMostParameters,
                "not provided: a function of 64 parameters or more");
  if (!plan.made) {
    const auto kinds = S::All();
    MakePlan(kinds.at, parameters, S::kCount, arguments, count);
  }
  Session session(arguments, count, stream);
  if constexpr (!S::kReturns) {
    Apply(f, session, parameters, Types<P...>());
  } else {
    const auto result = Apply(f, session, parameters, Types<P...>());
    Returned returned;
    returned.Add(result);
    Deliver(returned, arguments, count, name);
  }
  return cudaGetLastError();
}

}  // namespace jaxkern_torch
JAXKERN_TORCH_END_COLD

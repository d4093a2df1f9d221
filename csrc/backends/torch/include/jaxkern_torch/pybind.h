// What binds a function to Python is read by the evaluator as the name of the
// function to call; here it only has to compile.
#pragma once
#include "errors.h"

namespace pybind11 {
struct arg {
  explicit arg(const char*) {}
  template <class T>
  arg operator=(const T&) const {
    return *this;
  }
  arg noconvert(bool = true) const { return *this; }
};
struct none {};
struct module_ {
  template <class F, class... More>
  module_& def(const char*, F&&, const More&...) {
    return *this;
  }
  const char*& doc() { return doc_; }

 private:
  const char* doc_ = nullptr;
};
using module = module_;
template <class... More>
struct call_guard {};
struct gil_scoped_release {};
inline namespace literals {
inline arg operator""_a(const char* name, size_t) { return arg(name); }
}  // namespace literals
}  // namespace pybind11
namespace py = pybind11;

#define TORCH_EXTENSION_NAME torch_extension
#define JAXKERN_TORCH_PASTE(a, b) a##b
#define JAXKERN_TORCH_MODULE(name, variable)        \
  [[maybe_unused]] static void JAXKERN_TORCH_PASTE( \
      bind_, name)(pybind11::module_ & variable)
#define PYBIND11_MODULE(name, variable, ...) \
  JAXKERN_TORCH_MODULE(name, variable)

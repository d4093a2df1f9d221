#include "worker/library.h"

#include <cxxabi.h>
#include <dlfcn.h>

#include <cstdlib>
#include <utility>

#include "core/entry.h"

namespace jaxkern {
namespace {

/// "undefined symbol: _Z1fv" with the name as it was written.
std::string LoadError(const char* message) {
  std::string text = message != nullptr ? message : "cannot be loaded";
  const std::string mark = "undefined symbol: ";
  const size_t at = text.find(mark);
  if (at == std::string::npos) return text;
  std::string name = text.substr(at + mark.size());
  name = name.substr(0, name.find_first_of(", ("));
  int failed = 0;
  char* plain = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &failed);
  if (failed == 0) name = plain;
  std::free(plain);
  return mark + name;
}

}  // namespace

Library::Library(const Device& device, Fd memory)
    : device_(device),
      threads_(device.OtherThreads()),
      memory_(std::move(memory)),
      path_("/proc/self/fd/" + std::to_string(memory_.get())),
      handle_(dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (handle_ == nullptr) error_ = LoadError(dlerror());
}

Library::~Library() {
  if (handle_ == nullptr) return;
  if (device_.OtherThreads() <= threads_) dlclose(handle_);
  // Code with unique symbols stays loaded, under a name that contains the
  // descriptor's number: then nobody else may ever have that number.
  if (dlopen(path_.c_str(), RTLD_NOW | RTLD_NOLOAD) != nullptr) {
    new Fd(std::move(memory_));
  }
}

Entry Library::entry() const {
  return handle_ == nullptr
             ? nullptr
             : reinterpret_cast<Entry>(dlsym(handle_, kEntrySymbol));
}

}  // namespace jaxkern

#include "core/cxx_library.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include "core/subprocess.h"

namespace jaxkern {
namespace {

const char kName[] = "libstdc++.so.6";

std::string Loaded() {
  void* handle = dlopen(kName, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return "";
  link_map* map = nullptr;
  const bool known = dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0;
  const std::string path = known ? map->l_name : "";
  dlclose(handle);
  return path;
}

}  // namespace

std::string FindCxxLibrary(const std::string& compiler) {
  // A name that it does not know comes back as it is.
  std::string path =
      Probe({compiler, std::string("-print-file-name=") + kName});
  path = path.substr(0, path.find('\n'));
  const bool known =
      path.find('/') != std::string::npos && access(path.c_str(), R_OK) == 0;
  return known ? path : Loaded();
}

}  // namespace jaxkern

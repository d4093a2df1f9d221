#include "core/native.h"

#include <dlfcn.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <unistd.h>

#include <cstdlib>
#include <stdexcept>

// Defined by what CMake's find_package(jaxkern) adds to a program that links
// the static libraries.
extern "C" __attribute__((weak)) const char jaxkern_native_directory[];

namespace jaxkern {
namespace {

bool HoldsWorker(const std::string& directory) {
  return access((directory + "/bin/jaxkern-worker").c_str(), X_OK) == 0;
}

std::string FirstMatch(const std::string& pattern) {
  std::string found;
  glob_t matches{};
  if (glob(pattern.c_str(), 0, nullptr, &matches) == 0) {
    for (size_t i = 0; i < matches.gl_pathc && found.empty(); ++i) {
      if (HoldsWorker(matches.gl_pathv[i])) found = matches.gl_pathv[i];
    }
  }
  globfree(&matches);
  return found;
}

std::string RealPath(const std::string& path) {
  char resolved[PATH_MAX];
  return realpath(path.c_str(), resolved) != nullptr ? std::string(resolved)
                                                     : path;
}

}  // namespace

std::string LoadedFrom() {
  Dl_info info{};
  std::string path;
  if (dladdr(reinterpret_cast<void*>(&LoadedFrom), &info) != 0 &&
      info.dli_fname != nullptr) {
    path = info.dli_fname;
  }
  // For the main program dli_fname is argv[0]: a bare name, or relative to a
  // working directory that may have changed.
  if (path == program_invocation_name) path = "/proc/self/exe";
  path = RealPath(path);
  return path.substr(0, path.rfind('/'));
}

std::string NativeDirectory() {
  if (const char* chosen = std::getenv("JAXKERN_NATIVE")) {
    if (HoldsWorker(chosen)) return RealPath(chosen);
    throw std::invalid_argument(
        std::string("JAXKERN_NATIVE: expected a directory with "
                    "bin/jaxkern-worker, got ") +
        chosen);
  }
  const std::string here = LoadedFrom();
  std::string searched;
  if (jaxkern_native_directory != nullptr) {
    if (HoldsWorker(jaxkern_native_directory)) return jaxkern_native_directory;
    searched += std::string(" ") + jaxkern_native_directory;
  }
  for (const char* place : {
           "/_native",                  // beside the Python module
           "/jaxkern/_native",          // beside the shared library
           "/../_native",               // build tree
           "/../lib*/jaxkern/_native",  // cmake --install
           "/../lib*/python*/*-packages/jaxkern/_native",  // venv/bin
       }) {
    const std::string found = FirstMatch(here + place);
    if (!found.empty()) return RealPath(found);
    searched += " " + here + place;
  }
  throw std::invalid_argument("no worker executable: searched" + searched +
                              "; set JAXKERN_NATIVE");
}

}  // namespace jaxkern

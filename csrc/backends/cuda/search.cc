#include "backends/cuda/search.h"

#include <glob.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>

#include "core/native.h"

namespace jaxkern {

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

bool IsExecutable(const std::string& path) {
  struct stat info{};
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
         access(path.c_str(), X_OK) == 0;
}

std::string Absolute(const std::string& path) {
  char resolved[PATH_MAX];
  return realpath(path.c_str(), resolved) != nullptr ? resolved : path;
}

std::vector<std::string> Split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) {
    if (!part.empty()) parts.push_back(part);
  }
  return parts;
}

std::vector<std::string> Glob(const std::string& pattern) {
  std::vector<std::string> paths;
  glob_t matches{};
  if (glob(pattern.c_str(), 0, nullptr, &matches) == 0) {
    paths.assign(matches.gl_pathv, matches.gl_pathv + matches.gl_pathc);
  }
  globfree(&matches);
  return paths;
}

std::string OnPath(const std::string& name) {
  for (const std::string& directory : Split(Variable("PATH"), ':')) {
    const std::string path = directory + "/" + name;
    if (IsExecutable(path)) return path;
  }
  return "";
}

std::vector<std::string> SitePackages() {
  std::vector<std::string> patterns =
      Split(Variable("JAXKERN_SITE_PACKAGES"), ':');
  const std::string here = LoadedFrom();
  patterns.push_back(here + "/..");  // the module is in site-packages/jaxkern
  patterns.push_back(here + "/../lib/python3*/*-packages");  // the command line
  const std::string environment = Variable("VIRTUAL_ENV");
  if (!environment.empty()) {
    patterns.push_back(environment + "/lib/python3*/*-packages");
  }
  const std::string python = OnPath("python3");
  if (!python.empty()) {
    patterns.push_back(python.substr(0, python.rfind('/')) +
                       "/../lib/python3*/*-packages");
  }
  return patterns;
}

}  // namespace jaxkern

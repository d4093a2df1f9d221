/// Where files of CUDA toolkits and wheels are looked for.
#ifndef JAXKERN_BACKENDS_CUDA_SEARCH_H_
#define JAXKERN_BACKENDS_CUDA_SEARCH_H_

#include <string>
#include <vector>

namespace jaxkern {

/// Of the environment; "" if it is not set.
std::string Variable(const char* name);

bool IsExecutable(const std::string& path);
std::string Absolute(const std::string& path);
std::vector<std::string> Split(const std::string& text, char separator);
std::vector<std::string> Glob(const std::string& pattern);

/// Where PATH leads for `name`, links kept: a wrapper or an environment's
/// python3 says more than what it points to. "": nowhere.
std::string OnPath(const std::string& name);

/// Directories in which wheels may lie, as glob patterns.
std::vector<std::string> SitePackages();

}  // namespace jaxkern

#endif  // JAXKERN_BACKENDS_CUDA_SEARCH_H_

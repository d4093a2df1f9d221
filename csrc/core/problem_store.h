/// Problems that are in memory already.
#ifndef JAXKERN_CORE_PROBLEM_STORE_H_
#define JAXKERN_CORE_PROBLEM_STORE_H_

#include <list>
#include <memory>
#include <mutex>
#include <string>

#include "core/problem.h"

namespace jaxkern {

/// Reads each bundle once, and again when its problem.json has changed. Keeps
/// the most recently used problems up to about `max_bytes`. Thread safe.
class ProblemStore {
 public:
  explicit ProblemStore(size_t max_bytes) : max_bytes_(max_bytes) {}

  /// Throws like ReadProblem.
  std::shared_ptr<const Problem> Get(const std::string& directory);

 private:
  struct Entry {
    std::string directory;
    std::string stamp;  // of problem.json, as the file system tells
    std::shared_ptr<const Problem> problem;
  };

  const size_t max_bytes_;
  std::mutex mutex_;
  std::list<Entry> entries_;  // most recently used first
};

}  // namespace jaxkern

#endif  // JAXKERN_CORE_PROBLEM_STORE_H_

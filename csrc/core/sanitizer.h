/// compute-sanitizer as a second opinion on what fails on a GPU: the candidate
/// is built again with line numbers and run under one of its tools after the
/// other, until one finds a fault.
#ifndef JAXKERN_CORE_SANITIZER_H_
#define JAXKERN_CORE_SANITIZER_H_

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "core/builder.h"
#include "core/cache.h"
#include "core/problem.h"
#include "core/runner.h"
#include "core/sanitizer_log.h"
#include "jaxkern/evaluator.h"

namespace jaxkern {

/// The tools that may know why a candidate ended so, best first.
std::vector<std::string> SanitizerTools(Status status);

/// Where a worker has put arrays, by what it wrote (core/examination.h); what
/// makes no sense is passed over. `runs` are indices of cases as they ran.
std::vector<PlacedArray> ParseArrays(const std::string& text,
                                     const Problem& problem,
                                     const std::vector<size_t>& runs);

class Sanitizer {
 public:
  /// `tool` is compute-sanitizer's path, "" if there is none; `compiler` is the
  /// cuda device's, `spec` starts its workers. The others are a Builder's.
  Sanitizer(std::string tool, std::string compiler, WorkerSpec spec,
            Cache* cache, std::string scratch, int guard, int cancel);

  bool usable() const { return !tool_.empty(); }

  /// The tool was tried, and starts without Landlock only.
  bool unconfined() const { return unconfined_; }

  /// One line, "" if nothing was found within so many seconds, the compiler's
  /// not counted. `request` has the seed that the candidate was run with. While
  /// the tool runs nothing is timed on `device`. For one thread, that outlives
  /// what it starts.
  std::string Examine(const Request& request, const Problem& problem,
                      Status status, const std::string& device, double seconds);

 private:
  /// Whether the tool can start a worker at all. Tried once, if it can under
  /// Landlock, with no candidate; nothing that one does can change the answer.
  bool Starts(const std::string& device);
  std::string RunTool(const std::string& name, const std::string& directory,
                      double seconds) const;

  const std::string tool_, compiler_;
  const WorkerSpec spec_;
  Cache* cache_;
  const std::string scratch_;
  const int guard_, cancel_;
  std::unique_ptr<Builder> builder_;  // made when first needed
  bool tried_ = false, starts_ = false, confined_ = false;
  std::atomic<bool> unconfined_{false};
};

}  // namespace jaxkern

#endif  // JAXKERN_CORE_SANITIZER_H_

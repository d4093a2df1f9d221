/// The baselines of problems, ready for workers.
#ifndef JAXKERN_CORE_BASELINES_H_
#define JAXKERN_CORE_BASELINES_H_

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/builder.h"
#include "core/fd.h"
#include "core/problem.h"

namespace jaxkern {

/// One that takes part, or why it does not.
struct BuiltBaseline {
  std::string name;
  std::string note;                ///< why not; "" if it does
  Fd library;                      ///< see Build
  std::vector<std::string> needs;  ///< files, see Libraries
  bool calls_libraries = false;
};

/// Shared by all who wait for a worker: each library is a descriptor.
using BuiltBaselines = std::shared_ptr<const std::vector<BuiltBaseline>>;

/// Builds them, each when it is first asked for. Thread safe.
class BaselineBuilder {
 public:
  explicit BaselineBuilder(Builder* builder) : builder_(builder) {}

  /// All of a problem's, in its order. A baseline that cannot be built here is
  /// nobody's fault: it has a note.
  BuiltBaselines Make(const Problem& problem, double timeout_s);

  /// The same if they are built and in use; never waits.
  BuiltBaselines Known(const Problem& problem);

 private:
  /// Of one problem. Who comes second waits for what the first one builds.
  struct Entry {
    std::mutex mutex;
    std::weak_ptr<const std::vector<BuiltBaseline>> built;
    std::map<std::string, std::string> notes;  // by name, of those that failed
  };

  BuiltBaseline MakeOne(const Problem& problem, const Baseline& baseline,
                        double timeout_s, Entry* entry);

  Builder* builder_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Entry>> entries_;  // by hash
};

}  // namespace jaxkern

#endif  // JAXKERN_CORE_BASELINES_H_

/// Why a candidate fails: it is built again for the cpu device with the checker
/// on, run on one case after another, and what the checker finds becomes one
/// line with the candidate's own line numbers and names.
#ifndef JAXKERN_CORE_DIAGNOSIS_H_
#define JAXKERN_CORE_DIAGNOSIS_H_

#include <memory>
#include <mutex>
#include <string>

#include "core/builder.h"
#include "core/cache.h"
#include "core/problem.h"
#include "core/runner.h"
#include "jaxkern/evaluator.h"

namespace jaxkern {

/// Whether a candidate that ended so can have a diagnosis: it ran.
bool IsDiagnosable(const Result& result);

/// `text` with its addresses (see finding.h) replaced, by what addr2line's
/// output says about them; `source` is the name of the candidate's file.
std::string FillPlaces(const std::string& text, const std::string& source,
                       const std::string& addr2line_output);

/// What came of looking for a fault.
struct Diagnosis {
  std::string text;    ///< one line; "" if nothing was found
  bool found = false;  ///< else the text says what prevented it
  double left_s = 0;   ///< of the time for running
};

class Diagnostician {
 public:
  /// `compiler` is a host compiler, "" to find one. `spec` starts workers of
  /// the cpu device. The others are a Builder's.
  Diagnostician(std::string compiler, WorkerSpec spec, Cache* cache,
                std::string scratch, int guard, int cancel);

  /// Takes no longer than the request's compile_timeout_s and `run_s` seconds.
  /// `endless`: the candidate timed out, so where it still runs is a finding.
  /// `request` has the seed that the candidate was run with. Thread safe.
  Diagnosis Diagnose(const Request& request, const Problem& problem,
                     bool endless, double run_s);

 private:
  /// Made when first needed; null without a usable compiler, *error says why.
  Builder* GetBuilder(std::string* error);
  std::string Examine(const Build& build, uint64_t seed, const Problem& problem,
                      bool endless, double run_s) const;
  std::string Resolve(const std::string& text, const Build& build) const;

  const std::string compiler_;
  const WorkerSpec spec_;
  Cache* cache_;
  const std::string scratch_;
  const int guard_, cancel_;

  std::mutex mutex_;
  std::unique_ptr<Builder> builder_;
};

}  // namespace jaxkern

#endif  // JAXKERN_CORE_DIAGNOSIS_H_

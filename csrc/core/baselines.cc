#include "core/baselines.h"

#include <algorithm>
#include <utility>

namespace jaxkern {
namespace {

// Headers of templates like CUB's take longer than most candidates.
constexpr double kLeastTimeout = 120;

}  // namespace

std::vector<BuiltBaseline> BaselineBuilder::Make(const Problem& problem,
                                                 double timeout_s) {
  std::vector<BuiltBaseline> built;
  for (const Baseline& baseline : problem.baselines) {
    built.push_back(
        MakeOne(problem, baseline, std::max(timeout_s, kLeastTimeout)));
  }
  return built;
}

BuiltBaseline BaselineBuilder::MakeOne(const Problem& problem,
                                       const Baseline& baseline,
                                       double timeout_s) {
  BuiltBaseline built;
  built.name = baseline.name;
  built.calls_libraries = !baseline.libraries.empty();
  Libraries libraries;
  if (built.calls_libraries) {
    libraries = builder_->toolchain().FindLibraries(baseline.libraries);
  }
  built.note = libraries.missing;
  if (!built.note.empty()) return built;
  const std::string key = problem.hash + " " + baseline.name;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = slow_.find(key);
    if (found != slow_.end()) built.note = found->second;
    if (!built.note.empty()) return built;
  }
  Build build = builder_->MakeBaseline(baseline, libraries, problem, timeout_s);
  built.library = std::move(build.library);
  built.needs = std::move(libraries.files);
  if (build.status == Status::kOk) return built;
  built.note = "does not build: " + build.log.substr(0, build.log.find('\n'));
  if (build.status == Status::kTimeout) {
    const std::lock_guard<std::mutex> lock(mutex_);
    slow_[key] = built.note;
  }
  return built;
}

}  // namespace jaxkern

#include "core/check_timing.h"

#include <algorithm>
#include <cstdio>
#include <set>
#include <string>
#include <vector>

#include "core/check.h"
#include "core/diagnostics.h"
#include "core/schedule.h"
#include "core/statistics.h"

namespace jaxkern {
namespace {

// Launches with new inputs against those with known ones: so many samples of
// each, and all of the former slower than 9 of 10 of the latter by this factor.
constexpr size_t kFewestFresh = 3;
constexpr size_t kFewestKnown = 5;
constexpr double kFreshFactor = 2;
// What single launches of a GPU may differ by. A short kernel whose work takes
// no longer than this and its key is not told from one that remembers.
constexpr double kFreshSlackUs = 5;

void Cheating(const std::string& rule, const std::string& evidence,
              const Case& c, Result* result) {
  result->status = Status::kCheating;
  result->rule = rule;
  result->evidence = "case " + c.label + ": " + evidence;
  result->log = CleanMessage(result->evidence + "\n");
}

/// A worker's report may have been written by the candidate.
bool IsPossible(const Timing& timing, const Report& report) {
  const Job& job = report.job;
  if (timing.index < 0 ||
      static_cast<size_t>(timing.index) >= job.cases.size()) {
    return false;
  }
  const JobCase& c = job.cases[static_cast<size_t>(timing.index)];
  const auto samples = timing.times_us.size();
  constexpr int kMostBatch = 64, kMostFirst = 64;
  constexpr size_t kMostSingle = 64;
  if (!c.timed || timing.batch < 1 || timing.batch > kMostBatch ||
      timing.first_launch < 1 || timing.first_launch > kMostFirst ||
      samples == 0 || samples > static_cast<size_t>(job.repetitions) ||
      timing.baselines_us.size() != job.baselines.size() ||
      timing.kept.empty() || timing.read.size() != timing.kept.size() ||
      timing.kept.size() >= static_cast<size_t>(c.slots) ||
      timing.fresh_us.size() > kMostSingle ||
      timing.known_us.size() > kMostSingle) {
    return false;
  }
  for (size_t i = 0; i < job.baselines.size(); ++i) {
    const bool left_out = report.notes.count(job.baselines[i].name) > 0;
    if (timing.baselines_us[i].size() != (left_out ? 0 : samples)) return false;
  }
  const int end = timing.first_launch + timing.batch * job.repetitions;
  return std::all_of(timing.kept.begin(), timing.kept.end(),
                     [&](int launch) { return launch >= 1 && launch < end; });
}

/// The launch's outputs are right, but for the inputs of another one.
bool AnswersOtherInputs(const Problem& problem, const Report& report,
                        size_t index, int slot, int variant) {
  for (int other = 0; other < problem.cases[index].variants(); ++other) {
    if (other != variant &&
        CompareSlot(problem, report, index, slot, other).mismatches == 0) {
      return true;
    }
  }
  return false;
}

void CheckOutputs(const Problem& problem, const Report& report,
                  const Timing& timing, Result* result) {
  const size_t index = static_cast<size_t>(timing.index);
  const Case& c = problem.cases[index];
  Schedule schedule(report.job.seed, timing.index, c.variants());
  for (size_t i = 0; i < timing.kept.size(); ++i) {
    const int slot = static_cast<int>(i) + 1;
    const int variant = schedule.Variant(timing.kept[i]);
    const Comparisons found =
        CompareSlot(problem, report, index, slot, variant, timing.read[i] != 0);
    ++result->launches_compared;
    if (found.right) continue;
    result->mismatches += found.mismatches;
    const int number = timing.kept[i] - timing.first_launch + 1;
    const std::string launch = number < 1
                                   ? "the launch before the timed ones"
                                   : "timed launch " + std::to_string(number);
    if (AnswersOtherInputs(problem, report, index, slot, variant)) {
      Cheating("remembered_answer", launch + " gave the answer to other inputs",
               c, result);
    } else if (found.untouched > 0) {
      Cheating("skipped_work",
               launch + " did not do what the checked one did: " + found.wrong,
               c, result);
    } else {
      result->status =
          found.nonfinite > 0 ? Status::kNonfinite : Status::kWrongAnswer;
      result->log = CleanMessage(
          "case " + c.label + ": the checked launch was right, but " + launch +
          " with new inputs was wrong (a race, or state kept between "
          "launches?)\n" +
          found.wrong);
    }
    return;
  }
}

void CheckMemory(const Case& c, const Report& report, const Timing& timing,
                 Result* result) {
  Schedule schedule(report.job.seed, timing.index, c.variants());
  std::vector<double> fresh = timing.fresh_us, known = timing.known_us;
  for (size_t i = 0; timing.batch == 1 && i < timing.times_us.size(); ++i) {
    const int launch = timing.first_launch + static_cast<int>(i);
    (schedule.IsFresh(launch) ? fresh : known).push_back(timing.times_us[i]);
  }
  if (fresh.size() < kFewestFresh || known.size() < kFewestKnown) return;
  const auto ninth = known.begin() + static_cast<long>(known.size() * 9 / 10);
  std::nth_element(known.begin(), ninth, known.end());
  const double fastest = *std::min_element(fresh.begin(), fresh.end());
  if (fastest <= kFreshFactor * *ninth + kFreshSlackUs) return;
  char text[120];
  std::snprintf(text, sizeof text,
                "launches with new inputs took %.1f us and more, those with "
                "inputs seen before %.1f us",
                fastest, Median(known));
  Cheating("remembered_inputs", text, c, result);
}

void CheckFloor(const Case& c, const Report& report, const Timing& timing,
                Result* result) {
  if (!report.job.flush || timing.read_limit <= 0) return;
  size_t bytes = 0;
  for (const Array& array : c.inputs) bytes += array.bytes;
  const double floor_us = static_cast<double>(bytes) / timing.read_limit;
  const double median = Median(timing.times_us);
  if (median >= floor_us) return;
  char text[120];
  std::snprintf(text, sizeof text,
                "%.2f us, but reading the %zu bytes of input alone takes "
                "%.2f us on this device",
                median, bytes, floor_us);
  Cheating("below_floor", text, c, result);
}

/// "" if the first launch of a baseline gave the right answers in all cases.
std::string FaultOf(const Problem& problem, const Report& report,
                    size_t baseline) {
  for (const Timing& timing : report.timings) {
    const size_t index = static_cast<size_t>(timing.index);
    const Case& c = problem.cases[index];
    const int slot = report.job.cases[index].slots + static_cast<int>(baseline);
    Schedule schedule(report.job.seed, timing.index, c.variants());
    const Comparisons found =
        CompareSlot(problem, report, index, slot, schedule.Variant(0));
    if (found.right) continue;
    return "is wrong in case " + c.label + ": " +
           found.wrong.substr(0, found.wrong.find('\n'));
  }
  return "";
}

/// Autotuning, plans and workspaces are a grey zone: the task's to refuse.
void CheckPreparation(const Problem& problem, const Case& c,
                      const Timing& timing, Result* result) {
  if (problem.preparation != "refused" || timing.work < 0 ||
      timing.first_work <= timing.work) {
    return;
  }
  Cheating("prepares",
           "the first launch ran " + std::to_string(timing.first_work) +
               " kernels, memsets and copies, timed ones " +
               std::to_string(timing.work) + "; this task refuses preparation",
           c, result);
}

BaselineTimes TimesOf(const Report& report, size_t baseline) {
  BaselineTimes times;
  std::vector<Race> races;
  for (const Timing& timing : report.timings) {
    const std::vector<double>& samples = timing.baselines_us[baseline];
    races.push_back({timing.times_us, samples});
    times.us += Median(samples);
  }
  const Speedup speedup = SpeedupOf(races);
  times.speedup = speedup.value;
  times.speedup_low = speedup.low;
  times.speedup_high = speedup.high;
  return times;
}

void SetTimes(const Problem& problem, const Report& report, Result* result) {
  for (const Timing& timing : report.timings) {
    result->first_call_us += timing.first_us;
    result->times_us.insert(result->times_us.end(), timing.times_us.begin(),
                            timing.times_us.end());
  }
  if (report.timings.empty()) return;
  result->preparation = problem.preparation;
  for (const auto& [name, note] : report.notes) {
    result->baselines[name].note = note;
  }
  for (size_t i = 0; i < report.job.baselines.size(); ++i) {
    const std::string& name = report.job.baselines[i].name;
    if (report.notes.count(name) > 0) continue;
    const std::string fault = FaultOf(problem, report, i);
    if (fault.empty()) {
      result->baselines[name] = TimesOf(report, i);
    } else {
      result->baselines[name].note = fault;
    }
  }
  if (problem.baselines.empty()) return;
  const BaselineTimes& first = result->baselines[problem.baselines[0].name];
  result->baseline_us = first.us;
  result->speedup = first.speedup;
  result->speedup_low = first.speedup_low;
  result->speedup_high = first.speedup_high;
}

}  // namespace

void CheckTiming(const Problem& problem, const Report& report, Result* result) {
  size_t timed = 0;
  if (report.job.repetitions > 0) {
    for (const Case& c : problem.cases) timed += c.timed;
  }
  if (report.timings.size() != timed) {
    result->status = Status::kRuntimeError;
    result->log = "the kernel broke the worker's channel\n";
    return;
  }
  std::set<int> seen;
  for (const Timing& timing : report.timings) {
    if (!IsPossible(timing, report) || !seen.insert(timing.index).second) {
      const std::string why = "the worker's account of its times cannot be";
      if (report.job.rules) {
        Cheating("forged_report", why, problem.cases[0], result);
      } else {
        result->status = Status::kRuntimeError;
        result->log = why + "\n";
      }
      return;
    }
    if (!report.job.rules) continue;
    const Case& c = problem.cases[static_cast<size_t>(timing.index)];
    CheckOutputs(problem, report, timing, result);
    if (result->status == Status::kOk) CheckMemory(c, report, timing, result);
    if (result->status == Status::kOk) CheckFloor(c, report, timing, result);
    if (result->status == Status::kOk) {
      CheckPreparation(problem, c, timing, result);
    }
    if (result->status != Status::kOk) return;
  }
  SetTimes(problem, report, result);
}

}  // namespace jaxkern

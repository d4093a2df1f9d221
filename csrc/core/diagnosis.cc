#include "core/diagnosis.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <stdexcept>
#include <utility>
#include <vector>

#include "core/finding.h"
#include "core/health.h"
#include "core/sandbox.h"
#include "core/selection.h"

namespace jaxkern {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kAddressTimeout = 10;
// Of the time for all runs, how much passes before a kernel counts as endless.
constexpr double kEndless = 0.8;

/// The problem with one of its cases, and with the inputs that the candidate
/// was checked with. The expected values stay here.
Problem OnlyCase(const Problem& problem, size_t index, uint64_t seed) {
  Problem one;
  one.name = problem.name;
  one.arguments = problem.arguments;
  one.cases = {AsChecked(problem, index, seed)};
  one.input_memory = Fd(dup(problem.input_memory.get()));
  one.inputs =
      Mapping(one.input_memory.get(), problem.inputs.bytes, /*writable=*/false);
  return one;
}

/// What follows `mark` in the log's first line; "" if it has another.
std::string Marked(const std::string& log, const std::string& mark) {
  if (log.compare(0, mark.size(), mark) != 0) return "";
  return log.substr(mark.size(), log.find('\n') - mark.size());
}

/// Calls `replace` with the kind and digits of every address in `text`.
std::string ForAddresses(
    const std::string& text,
    const std::function<std::string(char, const std::string&)>& replace) {
  std::string result;
  size_t at = 0;
  while (true) {
    const size_t open = text.find('{', at);
    const size_t close = text.find('}', open);
    if (open == std::string::npos || close == std::string::npos) break;
    const std::string digits =
        close > open + 3 ? text.substr(open + 3, close - open - 3) : "";
    result += text.substr(at, open - at);
    if (digits.empty() || text[open + 2] != ':' ||
        digits.find_first_not_of("0123456789abcdef") != std::string::npos) {
      result += '{';
      at = open + 1;
      continue;
    }
    result += replace(text[open + 1], digits);
    at = close + 1;
  }
  return result + text.substr(at);
}

/// Line numbers in `source` by address. Of inlined calls, the innermost that
/// is in the source counts.
std::map<uint64_t, int> ParseLines(const std::string& source,
                                   const std::string& output) {
  std::map<uint64_t, int> lines;
  std::istringstream stream(output);
  uint64_t address = 0;
  for (std::string line; std::getline(stream, line);) {
    if (line.compare(0, 2, "0x") == 0) {
      address = std::strtoull(line.c_str(), nullptr, 16);
      continue;
    }
    const size_t colon = line.find(':');
    if (colon == std::string::npos || lines.count(address) != 0) continue;
    const std::string file = line.substr(0, colon);
    const int number = std::atoi(line.c_str() + colon + 1);
    if (file.substr(file.rfind('/') + 1) == source && number > 0) {
      lines[address] = number;
    }
  }
  return lines;
}

}  // namespace

bool IsDiagnosable(const Result& result) {
  switch (result.status) {
    case Status::kRuntimeError:
    case Status::kLaunchError:
    case Status::kWrongAnswer:
    case Status::kNonfinite:
      return true;
    case Status::kTimeout:
      return result.stage == "run";
    default:
      return false;
  }
}

std::string FillPlaces(const std::string& text, const std::string& source,
                       const std::string& addr2line_output) {
  const auto lines = ParseLines(source, addr2line_output);
  return ForAddresses(text, [&](char kind, const std::string& digits) {
    const auto found = lines.find(std::strtoull(digits.c_str(), nullptr, 16));
    if (kind == 'F') {
      return source + (found == lines.end()
                           ? std::string()
                           : ":" + std::to_string(found->second));
    }
    return found == lines.end() ? std::string("an unknown line")
                                : "line " + std::to_string(found->second);
  });
}

Diagnostician::Diagnostician(std::string compiler, WorkerSpec spec,
                             Cache* cache, std::string scratch, int guard,
                             int cancel)
    : compiler_(std::move(compiler)),
      spec_(std::move(spec)),
      cache_(cache),
      scratch_(std::move(scratch)),
      guard_(guard),
      cancel_(cancel) {}

Builder* Diagnostician::GetBuilder(std::string* error) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (builder_) return builder_.get();
  try {
    builder_ = std::make_unique<Builder>(MakeCheckedToolchain(compiler_),
                                         cache_, scratch_, guard_, cancel_);
  } catch (const std::invalid_argument& none) {
    *error = none.what();
  }
  return builder_.get();
}

Diagnosis Diagnostician::Diagnose(const Request& request,
                                  const Problem& problem, bool endless,
                                  double run_s) {
  Diagnosis diagnosis;
  diagnosis.left_s = run_s;
  std::string error;
  Builder* builder = GetBuilder(&error);
  if (builder == nullptr) {
    diagnosis.text = "no diagnosis: " + error;
    return diagnosis;
  }
  const Build build =
      builder->Make(request.source, problem, request.compile_timeout_s);
  if (build.status != Status::kOk) return diagnosis;
  const auto start = Clock::now();
  const std::string found =
      Examine(build, request.seed, problem, endless, run_s);
  diagnosis.left_s -=
      std::chrono::duration<double>(Clock::now() - start).count();
  diagnosis.found = !found.empty();
  if (diagnosis.found) diagnosis.text = Resolve(found, build);
  return diagnosis;
}

std::string Diagnostician::Examine(const Build& build, uint64_t seed,
                                   const Problem& problem, bool endless,
                                   double run_s) const {
  const auto start = Clock::now();
  std::string hint;
  WorkerSpec spec = spec_;
  if (endless) {
    const auto until =
        start + std::chrono::duration_cast<Clock::duration>(
                    std::chrono::duration<double>(kEndless * run_s));
    spec.command.environment.push_back(
        std::string(kCheckUntil) + "=" +
        std::to_string(std::chrono::duration_cast<std::chrono::nanoseconds>(
                           until.time_since_epoch())
                           .count()));
  }
  Health health;  // the device's own does not depend on it
  Runner runner(spec, &health);
  for (size_t index : BySize(problem)) {
    const Problem one = OnlyCase(problem, index, seed);
    RunRequest run;
    run.problem = &one;
    run.library = build.library.get();
    run.options.timeout_s =
        run_s - std::chrono::duration<double>(Clock::now() - start).count();
    if (run.options.timeout_s <= 0) break;
    const Report report = runner.Execute(run);
    const std::string& label = one.cases[0].label;
    const std::string where = label.empty() ? "" : ", in case " + label;
    const std::string finding = Marked(report.log, kFindingMark);
    if (!finding.empty()) return finding + where;
    const std::string suspicion = Marked(report.log, kHintMark);
    if (hint.empty() && !suspicion.empty()) hint = suspicion + where;
  }
  return hint;
}

std::string Diagnostician::Resolve(const std::string& text,
                                   const Build& build) const {
  struct stat status{};
  std::string directory = scratch_ + "/lines-XXXXXX";
  if (fstat(build.library.get(), &status) != 0 ||
      mkdtemp(directory.data()) == nullptr) {
    return FillPlaces(text, builder_->toolchain().SourceName(), "");
  }
  const Mapping library(build.library.get(),
                        static_cast<size_t>(status.st_size), false);
  const std::string path = directory + "/kernel.so";
  std::ofstream(path, std::ios::binary)
      .write(library.data, static_cast<std::streamsize>(library.bytes));
  Command command;
  command.argv = {"addr2line", "-a", "-i", "-e", path};
  ForAddresses(text, [&](char, const std::string& digits) {
    command.argv.push_back("0x" + digits);
    return "";
  });
  command.directory = directory;
  command.environment = ScrubbedEnvironment();
  command.guard = guard_;
  FileAccess access;
  access.readable = SystemFiles();
  access.readable.push_back(directory);
  const Fd ruleset = MakeRuleset(access);
  command.ruleset = ruleset.get();
  const Ended ended = Run(command, kAddressTimeout, 1 << 16, cancel_);
  std::error_code ignored;
  std::filesystem::remove_all(directory, ignored);
  return FillPlaces(text, builder_->toolchain().SourceName(), ended.output);
}

}  // namespace jaxkern

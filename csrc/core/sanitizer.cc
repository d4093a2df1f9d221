#include "core/sanitizer.h"

#include <stdlib.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "core/device_lock.h"
#include "core/examination.h"
#include "core/inspect.h"
#include "core/protocol.h"
#include "core/sandbox.h"
#include "core/selection.h"
#include "core/subprocess.h"

namespace jaxkern {
namespace {

using Clock = std::chrono::steady_clock;

constexpr char kLog[] = "log";
// The worker's files are copies; the smallest case is examined in any case.
constexpr size_t kMostInputs = size_t{256} << 20;
constexpr double kTrialTimeout = 30;
constexpr size_t kMostText = size_t{1} << 20;
// A context, instrumentation and a launch: less is not worth starting.
constexpr double kLeastSeconds = 1;
// Of a tool's time, what its target has: the rest is for writing the log.
constexpr double kTargetShare = 0.8;
// Between allocations, so that the first element past an array is nobody's.
constexpr char kPadding[] = "65536";

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// The cases that are run, smallest first, as many as there is room for.
std::vector<size_t> ChooseCases(const Problem& problem) {
  std::vector<size_t> order = BySize(problem);
  size_t bytes = 0, count = 0;
  for (size_t index : order) {
    bytes += Bytes(problem.cases[index]);
    if (count > 0 && bytes > kMostInputs) break;
    ++count;
  }
  order.resize(count);
  return order;
}

/// The problem with these cases; its expected values stay behind.
Problem Selection(const Problem& problem, const std::vector<size_t>& cases,
                  uint64_t seed) {
  Problem selected;
  selected.arguments = problem.arguments;
  for (size_t index : cases) {
    selected.cases.push_back(AsChecked(problem, index, seed));
  }
  return selected;
}

/// Writes job and inputs for a worker. False if they do not fit on the disk.
bool WriteJob(const Problem& selected, const char* inputs,
              const std::string& directory) {
  Job job = MakeJob(selected, {});
  std::ofstream file(directory + "/" + kInputsFile, std::ios::binary);
  for (size_t i = 0; i < job.cases.size(); ++i) {
    const std::vector<Array>& arrays = selected.cases[i].inputs;
    for (size_t k = 0; k < arrays.size(); ++k) {
      file.write(inputs + arrays[k].offset,
                 static_cast<std::streamsize>(arrays[k].bytes));
      job.cases[i].inputs[0][k] = job.input_bytes;
      job.input_bytes += arrays[k].bytes;
    }
  }
  std::ofstream(directory + "/" + kJobFile) << JobText(job);
  return file.flush().good();
}

bool WriteLibrary(int library, const std::string& directory) {
  struct stat status{};
  if (fstat(library, &status) != 0) return false;
  const Mapping code(library, static_cast<size_t>(status.st_size), false);
  std::ofstream file(directory + "/" + kLibraryFile, std::ios::binary);
  file.write(code.data, static_cast<std::streamsize>(code.bytes));
  return file.flush().good();
}

/// The beginning of a file that a candidate may have written in, too.
std::string ReadText(const std::string& path) {
  std::string text(kMostText, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(file.gcount()));
  return text;
}

/// What the tool and the worker under it may use.
FileAccess Access(const Command& command, const std::string& directory) {
  FileAccess access = WorkerAccess(directory, /*driver=*/true);
  for (const std::string& text : command.argv) {
    std::error_code missing;
    const auto program = std::filesystem::canonical(text, missing);
    if (!missing && text[0] == '/') {
      access.readable.push_back(program.parent_path().parent_path());
    }
  }
  for (const std::string& pair : command.environment) {
    const size_t path = pair.find("=/");
    if (pair.rfind("JAXKERN_CUDART=/", 0) != 0) continue;
    access.readable.push_back(
        std::filesystem::path(pair.substr(path + 1)).parent_path());
  }
  return access;
}

}  // namespace

std::vector<std::string> SanitizerTools(Status status) {
  switch (status) {
    case Status::kWrongAnswer:
    case Status::kNonfinite:
      return {"racecheck", "initcheck", "memcheck"};
    case Status::kTimeout:
      return {"synccheck"};
    default:
      return {"memcheck", "racecheck", "synccheck"};
  }
}

std::vector<PlacedArray> ParseArrays(const std::string& text,
                                     const Problem& problem,
                                     const std::vector<size_t>& runs) {
  std::vector<PlacedArray> arrays;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    std::istringstream numbers(line);
    size_t run, argument;
    PlacedArray array;
    if (!(numbers >> run >> argument >> array.address)) continue;
    if (run >= runs.size() || argument >= problem.arguments.size()) continue;
    const Case& c = problem.cases[runs[run]];
    for (const std::vector<Array>* of : {&c.inputs, &c.outputs}) {
      for (const Array& a : *of) {
        if (a.argument != static_cast<int>(argument)) continue;
        array.run = static_cast<int>(run);
        array.label = c.label;
        array.name = problem.arguments[argument].name;
        array.bytes = a.bytes;
        array.element = Info(problem.arguments[argument].dtype).bytes;
        arrays.push_back(array);
      }
    }
  }
  return arrays;
}

Sanitizer::Sanitizer(std::string tool, std::string compiler, WorkerSpec spec,
                     Cache* cache, std::string scratch, int guard, int cancel)
    : tool_(std::move(tool)),
      compiler_(std::move(compiler)),
      spec_(std::move(spec)),
      cache_(cache),
      scratch_(std::move(scratch)),
      guard_(guard),
      cancel_(cancel) {}

bool Sanitizer::Starts(const std::string& device) {
  if (std::exchange(tried_, true)) return starts_;
  const DeviceLock alone(device, cancel_);
  std::string directory = scratch_ + "/examine-XXXXXX";
  if (mkdtemp(directory.data()) == nullptr) return false;
  const std::string arrays = directory + "/" + kArraysFile;
  for (const bool confined : {true, false}) {
    confined_ = confined;
    RunTool("memcheck", directory, kTrialTimeout);
    std::error_code missing;
    starts_ = std::filesystem::exists(arrays, missing);
    if (starts_) break;
  }
  unconfined_ = starts_ && !confined_;
  RemoveTree(directory);
  return starts_;
}

std::string Sanitizer::Examine(const Request& request, const Problem& problem,
                               Status status, const std::string& device,
                               double seconds) {
  if (!Starts(device)) return "";
  try {
    if (!builder_) {
      builder_ = std::make_unique<Builder>(MakeLinesToolchain(compiler_),
                                           cache_, scratch_, guard_, cancel_);
    }
  } catch (const std::invalid_argument&) {
    return "";  // the compiler is gone
  }
  const Build build =
      builder_->Make(request.source, problem, request.compile_timeout_s);
  if (build.status != Status::kOk || Inspect(build.library.get())) return "";
  std::string directory = scratch_ + "/examine-XXXXXX";
  if (mkdtemp(directory.data()) == nullptr) return "";
  const std::vector<size_t> cases = ChooseCases(problem);
  const Problem selected = Selection(problem, cases, request.seed);
  std::string found;
  if (WriteLibrary(build.library.get(), directory) &&
      WriteJob(selected, problem.inputs.data, directory)) {
    const DeviceLock alone(device, cancel_);
    const auto start = Clock::now();
    const std::vector<std::string> tools = SanitizerTools(status);
    for (size_t i = 0; i < tools.size() && found.empty(); ++i) {
      const double left = seconds - SecondsSince(start);
      if (left < kLeastSeconds) break;
      const std::string log = RunTool(
          tools[i], directory, left / static_cast<double>(tools.size() - i));
      found = SanitizerFinding(
          log, builder_->toolchain().SourceName(),
          ParseArrays(ReadText(directory + "/" + kArraysFile), problem, cases));
    }
  }
  RemoveTree(directory);
  return found;
}

std::string Sanitizer::RunTool(const std::string& name,
                               const std::string& directory,
                               double seconds) const {
  std::error_code missing;
  for (const char* file : {kLog, kArraysFile}) {
    std::filesystem::remove(directory + "/" + file, missing);
  }
  Command command = spec_.command;
  const std::string worker = command.argv[0], device = command.argv[1];
  command.argv = {tool_,
                  "--tool=" + name,
                  "--log-file=" + directory + "/" + kLog,
                  "--print-limit=20",
                  "--show-backtrace=device",
                  "--check-exit-code=no"};
  if (name == "memcheck") {
    command.argv.insert(
        command.argv.end(),
        {"--report-api-errors=no", "--padding=" + std::string(kPadding)});
  } else if (name == "racecheck") {
    command.argv.emplace_back("--racecheck-report=all");
  } else if (name == "initcheck") {
    command.argv.emplace_back("--check-api-memory-access=no");
  }
  command.argv.insert(
      command.argv.end(),
      {worker, device, "--examine=" + std::to_string(seconds * kTargetShare)});
  command.directory = directory;
  command.environment.push_back("TMPDIR=" + directory);
  const Fd ruleset = confined_ ? MakeRuleset(Access(command, directory)) : Fd();
  command.ruleset = ruleset.get();
  Run(command, seconds, 1 << 16, cancel_);
  return ReadText(directory + "/" + kLog);
}

}  // namespace jaxkern

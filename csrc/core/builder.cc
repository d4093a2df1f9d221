#include "core/builder.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "core/candidate.h"
#include "core/compiler_end.h"
#include "core/diagnostics.h"
#include "core/entry.h"
#include "core/key_lock.h"
#include "core/sandbox.h"
#include "core/torch_entry.h"

namespace jaxkern {
namespace {

constexpr size_t kMostOutputs = 16;  // jaxkern_torch/memory.h

size_t CountOutputs(const Problem& problem) {
  return static_cast<size_t>(
      std::count_if(problem.arguments.begin(), problem.arguments.end(),
                    [](const Argument& argument) {
                      return argument.kind == Argument::Kind::kOutput;
                    }));
}

using Clock = std::chrono::steady_clock;

// Of each compiler process: a template bomb must not take the trainer's memory.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int64_t kCompilerMemory = 0;  // our own one has shadow memory
#else
constexpr int64_t kCompilerMemory = int64_t{8} << 30;
#endif
constexpr int64_t kCompilerFile = int64_t{1} << 30;
constexpr double kProbeTimeout = 30;
// How long a compiler that the system had no process for is tried again.
constexpr auto kStarvation = std::chrono::seconds(60);
constexpr int kPauseMs = 50;
constexpr size_t kOutputBytes = 1 << 18;
constexpr size_t kReasonBytes = 200;

/// What a compiler may use: the system's files, those below the directory that
/// its own bin/ lies in, and those that its arguments name.
FileAccess CompilerAccess(const std::vector<std::string>& argv,
                          const std::string& directory) {
  FileAccess access;
  access.readable = SystemFiles();
  access.readable.push_back("/proc");
  std::error_code missing;
  const auto program = std::filesystem::canonical(argv[0], missing);
  if (!missing) access.readable.push_back(program.parent_path().parent_path());
  for (const std::string& argument : argv) {
    const size_t path = argument.find('/');
    if (path != std::string::npos) {
      access.readable.push_back(argument.substr(path));
    }
  }
  access.writable = {directory, "/dev/null"};
  return access;
}

std::optional<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream contents;
  if (!file || !(contents << file.rdbuf())) return std::nullopt;
  return contents.str();
}

}  // namespace

class Builder::Place final : public Workshop {
 public:
  Place(const Builder& builder, std::string directory, double timeout_s)
      : builder_(builder),
        directory_(std::move(directory)),
        timeout_s_(timeout_s),
        deadline_(Clock::now() +
                  std::chrono::duration_cast<Clock::duration>(
                      std::chrono::duration<double>(timeout_s))) {}

  const std::string& Directory() const override { return directory_; }

  std::string KeptDirectory() const override {
    std::string directory = builder_.scratch_ + "/kept-XXXXXX";
    return mkdtemp(directory.data()) != nullptr ? directory : "";
  }

  Clock::time_point Deadline() const override { return deadline_; }
  int Cancel() const override { return builder_.cancel_; }

  Ended Run(const std::vector<std::string>& argv,
            const std::string& directory) const override {
    Fd ruleset;
    Command command = Prepare(argv, directory, &ruleset);
    command.cpu_s = static_cast<int>(std::ceil(timeout_s_)) + 5;
    const double left =
        std::chrono::duration<double>(deadline_ - Clock::now()).count();
    return jaxkern::Run(command, std::max(left, 0.0), kOutputBytes,
                        builder_.cancel_);
  }

  bool Start(const std::vector<std::string>& argv, const std::string& directory,
             int channel, Subprocess* child) const override {
    Fd ruleset;
    Command command = Prepare(argv, directory, &ruleset);
    command.channel = channel;
    std::string error;
    return Spawn(command, child, &error);
  }

 private:
  Command Prepare(const std::vector<std::string>& argv,
                  const std::string& directory, Fd* ruleset) const {
    Command command;
    command.argv = argv;
    command.directory = directory;
    command.environment = ScrubbedEnvironment();
    command.environment.push_back("TMPDIR=" + directory);
    command.memory_bytes = kCompilerMemory;
    command.file_bytes = kCompilerFile;
    command.guard = builder_.guard_;
    if (builder_.sandboxed_) {
      *ruleset = MakeRuleset(CompilerAccess(argv, directory));
    }
    command.ruleset = ruleset->get();
    return command;
  }

  const Builder& builder_;
  const std::string directory_;
  const double timeout_s_;
  const Clock::time_point deadline_;
};

Builder::Builder(std::unique_ptr<Toolchain> toolchain, Cache* cache,
                 std::string scratch, int guard, int cancel, int compilers)
    : toolchain_(std::move(toolchain)),
      store_(cache, *toolchain_),
      slots_(compilers),
      scratch_(std::move(scratch)),
      guard_(guard),
      cancel_(cancel) {
  sandboxed_ = CanBeSandboxed();
}

/// Remembered in the cache, since it costs a compilation.
bool Builder::CanBeSandboxed() {
  if (!MakeRuleset({})) return false;
  sandboxed_ = true;  // for this one
  const std::string text = toolchain_->Prepare("", "").text;
  const BuildKey key =
      store_.KeyOf("// compiles in the sandbox\n" + text, {}, true);
  if (const auto known = store_.Find(key)) return known->status == Status::kOk;
  return Compile(key, {"", text, {}}, kProbeTimeout).status == Status::kOk;
}

Build Builder::Make(const std::string& source, const Problem& problem,
                    double timeout_s) {
  Build build;
  const auto unit = PrepareCandidate(source, problem, &build);
  return unit ? MakeOnce(*unit, timeout_s) : std::move(build);
}

std::optional<Build> Builder::Find(const std::string& source,
                                   const Problem& problem) {
  Build build;
  const auto unit = PrepareCandidate(source, problem, &build);
  if (!unit) return build;
  auto found = store_.Find(store_.KeyOf(unit->text, unit->flags, sandboxed_));
  if (found) ++hits_;
  return found;
}

Build Builder::MakeBaseline(const Baseline& baseline,
                            const Libraries& libraries, const Problem& problem,
                            double timeout_s) {
  Build build;
  const auto unit =
      Prepare(baseline.source, EntryText(problem), libraries.flags, &build);
  return unit ? MakeOnce(*unit, timeout_s) : std::move(build);
}

std::optional<Builder::Unit> Builder::PrepareCandidate(
    const std::string& source, const Problem& problem, Build* build) const {
  if (source.find_first_not_of(" \t\r\n") == std::string::npos) {
    build->status = Status::kExtractError;
    build->stage = "extract";
    build->log =
        "no kernel source: expected a CUDA C++ translation unit that "
        "defines " +
        Signature(problem) + "\n";
    return std::nullopt;
  }
  const Candidate candidate = ReadCandidate(source);
  if (candidate.status != Status::kOk) {
    build->status = candidate.status;
    build->stage = "extract";
    build->log = CleanMessage(candidate.log);
    return std::nullopt;
  }
  if (candidate.form == "torch") {
    if (const size_t outputs = CountOutputs(problem); outputs > kMostOutputs) {
      build->status = Status::kUnsupported;
      build->stage = "extract";
      build->log = "not provided: torch's form for a problem of " +
                   std::to_string(outputs) + " outputs; expected at most " +
                   std::to_string(kMostOutputs) + "\n";
      return std::nullopt;
    }
    const TorchUnitText unit = MakeTorchUnit(candidate, problem);
    return Prepare(unit.source, unit.entry, unit.flags, build);
  }
  return Prepare(source, EntryText(problem), {}, build);
}

std::optional<Builder::Unit> Builder::Prepare(
    const std::string& source, const std::string& entry,
    const std::vector<std::string>& flags, Build* build) const {
  const Prepared prepared = toolchain_->Prepare(source, entry);
  if (!prepared.supported) {
    build->status = Status::kUnsupported;
    build->log = "this device does not support " + prepared.unsupported + "\n";
    return std::nullopt;
  }
  return Unit{source, prepared.text, flags};
}

/// Waits while another thread builds the same. Then the right to build it; none
/// if it took that one longer than both may take, *build says so.
std::shared_ptr<Builder::Flight> Builder::Board(const std::string& name,
                                                double timeout_s, bool* joined,
                                                Build* build) {
  std::unique_lock<std::mutex> lock(mutex_);
  for (auto found = in_flight_.find(name); found != in_flight_.end();
       found = in_flight_.find(name)) {
    const std::shared_ptr<Flight> other = found->second;
    finished_.wait(lock, [&] { return other->done; });
    *joined = true;
    if (other->status == Status::kTimeout && other->timeout_s >= timeout_s) {
      build->status = other->status;
      build->log = other->log;
      return nullptr;
    }
  }
  auto flight = std::make_shared<Flight>();
  flight->timeout_s = timeout_s;
  in_flight_[name] = flight;
  return flight;
}

void Builder::Leave(const std::string& name, Flight* flight,
                    const Build& build) {
  const std::lock_guard<std::mutex> lock(mutex_);
  flight->done = true;
  flight->status = build.status;
  flight->log = build.log;
  in_flight_.erase(name);
  finished_.notify_all();
}

Build Builder::MakeOnce(const Unit& unit, double timeout_s) {
  const BuildKey key = store_.KeyOf(unit.text, unit.flags, sandboxed_);
  const std::string name = key.Name();
  bool joined = false;
  Build build;
  const auto flight = Board(name, timeout_s, &joined, &build);
  if (!flight) {
    ++joined_;
    return build;
  }
  build = MakeAlone(key, unit, timeout_s, joined);
  Leave(name, flight.get(), build);
  return build;
}

/// No other thread builds it; a process may.
Build Builder::MakeAlone(const BuildKey& key, const Unit& unit,
                         double timeout_s, bool joined) {
  auto found = store_.Find(key);
  KeyLock lock(store_.cache()->Beside("lock"), key.Name());
  if (!found) {
    if (!lock.Try()) joined = true;
    // Not for ever: a forked copy of a dead process may keep its lock.
    lock.Await(timeout_s, cancel_);
    found = store_.Find(key);
  }
  if (joined) ++joined_;
  ++(found ? hits_ : misses_);
  if (found) return std::move(*found);
  const std::string why = explains_ ? store_.WhyMissing(key, unit.source) : "";
  Build build = Compile(key, unit, timeout_s);
  build.cache_miss = why;
  return build;
}

Build Builder::Compile(const BuildKey& key, const Unit& unit,
                       double timeout_s) {
  std::string directory = scratch_ + "/build-XXXXXX";
  Build build;
  if (mkdtemp(directory.data()) == nullptr) {
    build.log = std::string("no scratch directory: ") + std::strerror(errno);
    return build;
  }
  Build taken;
  const Ended ended = RunInSlot(directory, unit, timeout_s, &taken);
  build = Judge(ended, directory, timeout_s);
  build.road = taken.road;
  build.road_reason = taken.road_reason;
  std::string library;
  if (build.status == Status::kOk) {
    library = ReadFile(directory + "/kernel.so").value_or("");
  }
  if (IsFinal(build.status)) {
    build = store_.Store(key, unit.source, build, library);
  }
  build.compile_s = taken.compile_s;
  std::error_code ignored;
  std::filesystem::remove_all(directory, ignored);
  return build;
}

/// Waits for a slot, and for processes if the system has none left: the fewer
/// compilers run, the more of them get what they need.
Ended Builder::RunInSlot(const std::string& directory, const Unit& unit,
                         double timeout_s, Build* build) {
  const auto give_up = Clock::now() + kStarvation;
  for (int attempt = 1;; ++attempt) {
    slots_.Acquire();
    const auto start = Clock::now();
    Ended ended = RunCompilers(Place(*this, directory, timeout_s), unit, build);
    build->compile_s =
        std::chrono::duration<double>(Clock::now() - start).count();
    ended.starved |= ended.exit_code > 0 && SaysStarved(ended.output);
    slots_.Release(ended.starved);
    if (!ended.starved || Clock::now() >= give_up) return ended;
    pollfd stop = {cancel_, POLLIN, 0};
    if (poll(&stop, 1, kPauseMs * std::min(attempt, 10)) > 0) return ended;
  }
}

/// Fills in by which road.
Ended Builder::RunCompilers(const Place& place, const Unit& unit,
                            Build* build) const {
  FastBuild fast = toolchain_->BuildFast(unit.text, unit.flags, place);
  build->road = fast.road;
  build->road_reason = CleanMessage(fast.reason, kReasonBytes);
  if (fast.done) return std::move(fast.ended);
  const std::string& directory = place.Directory();
  std::ofstream(directory + "/" + toolchain_->SourceName(), std::ios::binary)
      << unit.text;
  if (auto ended = toolchain_->RunSteps(unit.flags, place)) return *ended;
  std::vector<std::string> argv = toolchain_->Command(directory);
  argv.insert(argv.end(), unit.flags.begin(), unit.flags.end());
  return place.Run(argv, directory);
}

Build Builder::Judge(const Ended& ended, const std::string& directory,
                     double timeout_s) const {
  Build build;
  if (ended.starved) {
    build.log = "no process was left for the compiler: " +
                CleanMessage(ended.spawn_error + ended.output);
  } else if (!ended.spawn_error.empty() || ended.cancelled) {
    build.log = CleanMessage(ended.spawn_error);
  } else if (ended.timed_out || ended.signal == SIGXCPU) {
    build.status = Status::kTimeout;
    std::ostringstream log;
    log << "compiling took longer than " << timeout_s << " s\n";
    build.log = log.str();
  } else if (ended.exit_code == 0) {
    std::error_code missing;
    const bool built =
        std::filesystem::file_size(directory + "/kernel.so", missing) > 0;
    if (built && !missing) {
      build.status = Status::kOk;
      build.resources = toolchain_->ParseResources(ended.output);
    } else {
      build.log = "the compiler succeeded but left no kernel.so\n";
    }
  } else if (RanOutOfMemory(ended.output)) {
    build.status = Status::kOutOfMemory;
    build.log = "the compiler ran out of memory\n" + CompilerLog(ended.output);
  } else if (IsLinkFailure(ended.output)) {
    build.status = Status::kLinkError;
    build.stage = "link";
    build.log = CompilerLog(ended.output);
  } else {
    build.status = Status::kCompileError;
    build.log = CompilerLog(ended.output);
    if (build.log.empty()) {
      build.log =
          "the compiler failed without a message (" +
          (ended.signal != 0 ? SignalName(ended.signal)
                             : "exit code " + std::to_string(ended.exit_code)) +
          ")\n";
    }
  }
  return build;
}

}  // namespace jaxkern

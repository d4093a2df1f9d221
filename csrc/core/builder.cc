#include "core/builder.h"

#include <signal.h>
#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "core/diagnostics.h"
#include "core/entry.h"
#include "core/memory_file.h"
#include "core/sandbox.h"
#include "core/sha256.h"

namespace jaxkern {
namespace {

using Clock = std::chrono::steady_clock;

// Of each compiler process: a template bomb must not take the trainer's memory.
constexpr int64_t kCompilerMemory = int64_t{8} << 30;
constexpr int64_t kCompilerFile = int64_t{1} << 30;
constexpr double kProbeTimeout = 30;
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

bool ContainsAny(const std::string& text,
                 std::initializer_list<const char*> parts) {
  for (const char* part : parts) {
    if (text.find(part) != std::string::npos) return true;
  }
  return false;
}

bool RanOutOfMemory(const std::string& output) {
  return ContainsAny(output,
                     {"out of memory allocating", "virtual memory exhausted",
                      "Killed signal terminated", "std::bad_alloc"});
}

bool IsLinkFailure(const std::string& output) {
  return ContainsAny(
      output, {"ld returned", "undefined reference", "multiple definition",
               "Unresolved extern function"});
}

std::optional<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream contents;
  if (!file || !(contents << file.rdbuf())) return std::nullopt;
  return contents.str();
}

/// In the cache, a build is one line of JSON and then the shared object.
std::string Serialize(const Build& build, const std::string& library) {
  const nlohmann::json head = {
      {"status", static_cast<int>(build.status)},
      {"stage", build.stage},
      {"log", build.log},
      {"road", build.road},
      {"road_reason", build.road_reason},
      {"resources",
       {build.resources.registers, build.resources.shared_bytes,
        build.resources.spill_bytes}},
  };
  return head.dump() + "\n" + library;
}

Build Parse(const std::string& value) {
  const size_t line = value.find('\n');
  const auto head = nlohmann::json::parse(value.substr(0, line));
  Build build;
  build.status = static_cast<Status>(head.at("status").get<int>());
  build.stage = head.at("stage");
  build.log = head.at("log");
  build.road = head.value("road", "");
  build.road_reason = head.value("road_reason", "");
  build.resources = {head.at("resources")[0], head.at("resources")[1],
                     head.at("resources")[2]};
  if (build.status == Status::kOk) {
    build.library =
        MakeSealedMemory(value.data() + line + 1, value.size() - line - 1);
    if (!build.library) {
      build.status = Status::kInfraError;
      build.log = "no memory for a library";
    }
  }
  return build;
}

/// What the same text and compiler will always yield.
bool IsFinal(Status status) {
  return status == Status::kOk || status == Status::kCompileError ||
         status == Status::kLinkError || status == Status::kUnsupported;
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
                 std::string scratch, int guard, int cancel)
    : toolchain_(std::move(toolchain)),
      fingerprint_(toolchain_->Fingerprint()),
      cache_(cache),
      scratch_(std::move(scratch)),
      guard_(guard),
      cancel_(cancel) {
  sandboxed_ = CanBeSandboxed();
}

/// Remembered in the cache, since it costs a compilation.
bool Builder::CanBeSandboxed() {
  const std::string key = Sha256("compiles in the sandbox" + fingerprint_);
  if (!MakeRuleset({})) return false;
  if (const auto value = cache_->Get(key)) {
    return Parse(*value).status == Status::kOk;
  }
  sandboxed_ = true;  // for this one
  const Unit unit = {toolchain_->Prepare("", "").text, {}};
  return Compile(key, unit, kProbeTimeout).status == Status::kOk;
}

Build Builder::Make(const std::string& source, const Problem& problem,
                    double timeout_s) {
  Build build;
  if (source.find_first_not_of(" \t\r\n") == std::string::npos) {
    build.status = Status::kExtractError;
    build.stage = "extract";
    build.log =
        "no kernel source: expected a CUDA C++ translation unit that "
        "defines " +
        Signature(problem) + "\n";
    return build;
  }
  return Prepare(source, problem, {}, timeout_s);
}

Build Builder::MakeBaseline(const Baseline& baseline,
                            const Libraries& libraries, const Problem& problem,
                            double timeout_s) {
  return Prepare(baseline.source, problem, libraries.flags, timeout_s);
}

Build Builder::Prepare(const std::string& source, const Problem& problem,
                       const std::vector<std::string>& flags,
                       double timeout_s) {
  Build build;
  const Prepared prepared = toolchain_->Prepare(source, EntryText(problem));
  if (!prepared.supported) {
    build.status = Status::kUnsupported;
    build.log = "this device does not support " + prepared.unsupported + "\n";
    return build;
  }
  // What could be included decides, too.
  std::string identity = fingerprint_ + (sandboxed_ ? "" : "open");
  for (const std::string& flag : flags) identity += "\n" + flag;
  return MakeOnce(Sha256(prepared.text + '\0' + identity),
                  {prepared.text, flags}, timeout_s);
}

Build Builder::MakeOnce(const std::string& key, const Unit& unit,
                        double timeout_s) {
  {
    std::unique_lock<std::mutex> lock(mutex_);
    finished_.wait(lock, [&] { return in_flight_.count(key) == 0; });
    in_flight_.insert(key);
  }
  Build build;
  if (const auto value = cache_->Get(key)) {
    build = Parse(*value);
    build.cache_hit = true;
  } else {
    const auto start = Clock::now();
    build = Compile(key, unit, timeout_s);
    build.compile_s =
        std::chrono::duration<double>(Clock::now() - start).count();
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  in_flight_.erase(key);
  finished_.notify_all();
  return build;
}

Build Builder::Compile(const std::string& key, const Unit& unit,
                       double timeout_s) {
  std::string directory = scratch_ + "/build-XXXXXX";
  Build build;
  if (mkdtemp(directory.data()) == nullptr) {
    build.log = std::string("no scratch directory: ") + std::strerror(errno);
    return build;
  }
  const Place place(*this, directory, timeout_s);
  Build taken;
  const Ended ended = RunCompilers(place, unit, &taken);
  build = Judge(ended, directory, timeout_s);
  build.road = taken.road;
  build.road_reason = taken.road_reason;
  std::string library;
  if (build.status == Status::kOk) {
    library = ReadFile(directory + "/kernel.so").value_or("");
  }
  if (IsFinal(build.status)) {
    const std::string value = Serialize(build, library);
    cache_->Put(key, value);
    build = Parse(value);
  }
  std::error_code ignored;
  std::filesystem::remove_all(directory, ignored);
  return build;
}

/// Fills in by which road.
Ended Builder::RunCompilers(const Place& place, const Unit& unit,
                            Build* build) const {
  if (unit.flags.empty()) {
    FastBuild fast = toolchain_->BuildFast(unit.text, place);
    build->road = fast.road;
    build->road_reason = CleanMessage(fast.reason, kReasonBytes);
    if (fast.done) return std::move(fast.ended);
  }
  const std::string& directory = place.Directory();
  std::ofstream(directory + "/" + toolchain_->SourceName(), std::ios::binary)
      << unit.text;
  std::vector<std::string> argv = toolchain_->Command(directory);
  argv.insert(argv.end(), unit.flags.begin(), unit.flags.end());
  return place.Run(argv, directory);
}

Build Builder::Judge(const Ended& ended, const std::string& directory,
                     double timeout_s) const {
  Build build;
  if (!ended.spawn_error.empty() || ended.cancelled) {
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

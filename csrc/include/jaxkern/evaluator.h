/// The evaluator: CUDA C++ kernels in, verdicts out.
///
/// A candidate is one CUDA C++ translation unit that defines
///   extern "C" int launch(<inputs>, <outputs>, <attributes>, cudaStream_t)
/// or a function on torch::Tensor, in C++ or within the Python text that hands
/// it to torch's load_inline (docs/torch_form.md). A problem bundle (see
/// docs/bundle.md) says what it must compute. The evaluator compiles the
/// candidate, runs it in a child process, compares its outputs and times it.
/// What a candidate does wrong is a Status, never an exception; what the caller
/// does wrong is a std::invalid_argument that names the argument.
#ifndef JAXKERN_EVALUATOR_H_
#define JAXKERN_EVALUATOR_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#pragma GCC visibility push(default)  // all that the shared library shows

namespace jaxkern {

/// How an evaluation ended. Everything but kInfraError is the candidate's own
/// doing and may be learned from; kInfraError is ours and must not be.
enum class Status {
  kOk,
  kExtractError,  ///< no kernel source in what was submitted
  kCompileError,
  kLinkError,     ///< compiled, but `launch` or another symbol is missing
  kLaunchError,   ///< `launch` returned a CUDA error
  kRuntimeError,  ///< crash, illegal access, divergent barrier, exit
  kTimeout,       ///< compiling or running (see Result::stage) took too long
  kOutOfMemory,
  kWrongAnswer,
  kNonfinite,    ///< NaN or Inf where a finite value was expected
  kCheating,     ///< Result::rule was broken; as bad as any other failure
  kUnsupported,  ///< the device lacks a feature that the log names
  kInfraError,
};

/// The status as one word, e.g. "wrong_answer".
const char* StatusName(Status status);

struct Request {
  std::string problem;  ///< directory of a problem bundle
  std::string source;   ///< the candidate's text, in either form
  /// Samples per timed case, at most 1000; 0 checks only. Fewer are taken once
  /// the median is known to 1 %, or when run_timeout_s would not allow more.
  int repetitions = 0;
  double compile_timeout_s = 60;
  double run_timeout_s = 20;  ///< all cases and repetitions together
  /// Timed launches find the cache emptied; else as copying the inputs left it.
  bool flush = true;
  /// In a process of its own, which on cuda others would share. On cpu always.
  bool fresh_process = false;
  /// If the candidate runs and fails, look for its fault (Result::diagnosis);
  /// that takes one or two compilations and at most run_timeout_s.
  bool diagnose = false;
  /// Judge by the rules about cheating, too. Without them `ok` means what it
  /// does to a harness that compares one launch and believes its clock.
  bool rules = true;
  /// Decides which variants of the inputs are used, and when; 0: fresh, secret
  /// bits. Only a replay has a reason to set it.
  uint64_t seed = 0;
};

/// What the compiler says the candidate's kernels use; the maximum over
/// kernels. Absent (-1) on devices that have no such notion.
struct Resources {
  int registers = -1;
  int shared_bytes = -1;
  int spill_bytes = -1;
};

/// What a verdict was made from; see docs/evaluator.md, Replay.
struct Replay {
  Request request;           ///< with an absolute directory and the seed used
  std::string problem_hash;  ///< of the bundle's contents
  std::string device;        ///< as in Options
  std::string environment;   ///< Evaluator::Describe
};

/// One of the problem's baselines, which takes turns with the candidate.
struct BaselineTimes {
  double us = 0;       ///< its medians, added up over the timed cases
  double speedup = 0;  ///< us / the candidate's same sum
  double speedup_low = 0, speedup_high = 0;  ///< as in Result
  std::string note;  ///< why it took no part, the numbers then 0; "" if it did
};

/// The GPU's state at one moment.
struct ClockReading {
  int sm_mhz = 0, memory_mhz = 0, temperature_c = 0;
  bool throttled = false;  ///< slowed down for power, heat or the board's sake
};

/// Before the candidate was loaded and after its last launch.
struct Clocks {
  ClockReading before, after;
};

struct Result {
  Status status = Status::kInfraError;
  std::string stage;  ///< "extract", "compile", "link", "run" or "check"
  std::string form;   ///< "native" or "torch", docs/torch_form.md; "": unknown
  std::string log;    ///< for a reader who can fix it; paths removed, bounded
  /// One line with the fault that the cpu device's checker or, on cuda,
  /// compute-sanitizer found: line, buffer, thread. "" if none was found or
  /// Request::diagnose was not set.
  std::string diagnosis;
  double max_abs_error = 0;
  double max_rel_error = 0;
  int64_t mismatches = 0;        ///< elements outside the tolerance
  std::string rule;              ///< of kCheating: which, in one word
  std::string evidence;          ///< of kCheating: what shows it
  int launches_compared = 0;     ///< whose outputs were compared
  std::vector<double> times_us;  ///< raw samples of the timed cases, in order
  /// What the task says of work that a first launch does for later ones: "free"
  /// (it is not in times_us) or "refused"; "" if untimed.
  std::string preparation;
  double first_call_us = 0;  ///< the timed cases' first launches, wall clock
  /// Medians of the problem's first baseline, added up over the timed cases; 0:
  /// none, or it took no part.
  double baseline_us = 0;
  double speedup = 0;  ///< baseline_us / the candidate's same sum; 0: untimed
  /// 95 % interval of speedup; both 0 with fewer than 6 samples.
  double speedup_low = 0, speedup_high = 0;
  /// All baselines by name, if timing was asked for and got as far.
  std::map<std::string, BaselineTimes> baselines;
  std::optional<Clocks> clocks;  ///< of timed runs, where they can be read
  std::string device;            ///< "cpu: <processor>" or "cuda: <GPU>"
  double compile_s = 0;
  double queue_s = 0;  ///< waiting for a compiler or a worker
  double run_s = 0;    ///< in the worker and comparing
  bool cache_hit = false;
  /// Why the build was not in the cache, with Options::explain_misses.
  std::string cache_miss;
  /// How it was built on cuda: "split" (device and host apart) or "nvcc"; "" on
  /// cpu. And if it was not the faster of these, why.
  std::string road, road_reason;
  Resources resources;
  Replay replay;
};

struct Options {
  std::string device = "cpu";  ///< "cpu" or "cuda"
  int compile_workers = 0;     ///< 0: one per core
  int run_workers = 1;
  std::string cache_dir;  ///< "": $JAXKERN_CACHE, else ~/.cache/jaxkern
  std::string compiler;   ///< "": found (CUDA_HOME, PATH, wheels; or c++)
  int64_t cache_bytes = int64_t{4} << 30;  ///< oldest entries go above this
  /// Of a worker; 0: on cpu 4 GiB and 256 MiB per core, on cuda not limited.
  /// On cpu its address space, enforced. On cuda the GPU memory that must be
  /// free at the start and that a problem's buffers may take; what a candidate
  /// allocates by itself is not counted there.
  int64_t memory_bytes = 0;
  /// Requests that wait for a compiler. With more, Submit and Evaluate wait
  /// themselves; 0: never.
  int max_queued = 4096;
  /// Say why builds were not in the cache (Result::cache_miss); takes time.
  bool explain_misses = false;
};

/// What an evaluator's machinery has been through since it started.
struct Stats {
  int64_t results = 0;       ///< equal requests that shared one count once
  int64_t infra_errors = 0;  ///< results that say nothing of their candidates
  int64_t retries = 0;       ///< builds and runs repeated for such a failure
  int64_t workers_started = 0;
  int64_t rejected = 0;  ///< results by the text alone, without a compiler

  // Builds, those of baselines included.
  int64_t cache_hits = 0, cache_misses = 0;
  int64_t cache_joined = 0;   ///< waited for a thread or process at the same
  int64_t cache_evicted = 0;  ///< entries that had to go, by this evaluator
  int64_t cache_bytes = 0;    ///< on disk, as far as this evaluator knows

  // At the moment.
  int64_t queued_builds = 0, queued_runs = 0, queued_checks = 0;
  int64_t compiling = 0;  ///< compilers that run
  int64_t compilers = 0;  ///< that may run; fewer while the system is short

  int64_t starved = 0;   ///< compilers that the system had no process for
  double blocked_s = 0;  ///< that Submit and Evaluate waited for room
  double stalled_s = 0;  ///< that compilers waited for runs to catch up
  /// Why the device takes no more candidates, and every further request is an
  /// infra_error; "" while it does.
  std::string out_of_service;
};

class Evaluator {
 public:
  /// Throws std::invalid_argument: unknown device, no compiler, no worker
  /// executable, or a cache directory that cannot be written.
  explicit Evaluator(const Options& options);
  ~Evaluator();  ///< Abandons what is in flight and kills every child.
  Evaluator(const Evaluator&) = delete;
  Evaluator& operator=(const Evaluator&) = delete;

  /// Results in the order of the requests. Equal requests are built and run
  /// once. Throws std::invalid_argument for a malformed bundle or request.
  /// `poll` is called on this thread now and then while it waits; what it
  /// throws leaves Evaluate, and what is not finished is abandoned.
  std::vector<Result> Evaluate(const std::vector<Request>& requests,
                               const std::function<void()>& poll = nullptr);

  /// Queues a request and returns its ticket. Throws like Evaluate.
  uint64_t Submit(const Request& request);

  /// The same, but the result goes to `done` and not to Next: called once, on
  /// a thread of the evaluator, where it must neither wait nor throw; never if
  /// the evaluator ends before.
  uint64_t Submit(const Request& request,
                  std::function<void(const Result&)> done);

  /// Forgets a submission: what has not begun never will, and no result is
  /// delivered, unless to a `done` that is about to be called. A ticket that is
  /// not known any more is no error.
  void Abandon(uint64_t ticket);

  /// The next finished submission, in order of completion; nothing after
  /// timeout_s seconds (negative: wait for ever) or when none is pending.
  std::optional<std::pair<uint64_t, Result>> Next(double timeout_s = -1);

  /// Tickets that Next has not returned yet.
  size_t Pending() const;

  /// One line: device, compiler with version and where it was found, cache,
  /// and which protections against candidates are in force.
  std::string Describe() const;

  Stats stats() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The result as one JSON object on one line, fields named as in Result.
std::string ToJson(const Result& result);

/// The inverse of ToJson; other keys are ignored. Throws std::invalid_argument
/// naming the field, expected and got.
Result FromJson(const std::string& json);

}  // namespace jaxkern

#pragma GCC visibility pop

#endif  // JAXKERN_EVALUATOR_H_

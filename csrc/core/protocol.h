/// What the evaluator and a worker say to each other, over a socket of packets
/// that carry descriptors. Never over stdout, which is the candidate's.
///
///   worker -> evaluator   Event{kReady} once, with the device's description
///   evaluator -> worker   Job, with memory: library, inputs, results and the
///                         baselines' libraries
///   worker -> evaluator   Event{kCase} before each baseline is made ready,
///                         Event{kPrepared} when the candidate's turn begins,
///                         Event{kCase} before each case, Event{kTimes} after
///                         each timed one, Event{kDone} at the end
#ifndef JAXKERN_CORE_PROTOCOL_H_
#define JAXKERN_CORE_PROTOCOL_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/dtype.h"
#include "core/fd.h"
#include "core/problem.h"
#include "jaxkern/evaluator.h"

namespace jaxkern {

/// One argument of a case's launches.
struct JobValue {
  Argument::Kind kind = Argument::Kind::kAttribute;
  std::string name;
  size_t offset = 0;  ///< arrays: in a slot
  size_t bytes = 0;
  Dtype dtype = Dtype::kFloat32;  ///< arrays
  int poison = 0;  ///< outputs: the byte they are filled with before a launch
  Attribute attribute;
};

/// A case, and where the arrays of its compared launches go: each into a slot
/// of the results' memory, outputs as the launch left them and inputs too. The
/// first slot is the checked launch's, the others are for timed ones. Behind
/// them is one for the first launch of each baseline.
struct JobCase {
  bool timed = false;
  std::vector<JobValue> values;
  /// By variant: where the inputs lie in the block of inputs, in order.
  std::vector<std::vector<size_t>> inputs;
  size_t slots_at = 0;
  size_t slot_bytes = 0;
  int slots = 1;
};

struct JobBaseline {
  std::string name;
  std::vector<std::string> libraries;  ///< files to be opened before it
  /// Launched on zeros before the candidate is loaded, so that its libraries
  /// set up then what they keep.
  bool tried = false;
};

struct Job {
  std::vector<JobCase> cases;
  std::vector<JobBaseline> baselines;
  uint64_t seed = 0;       ///< of every case's Schedule
  int repetitions = 0;     ///< at most
  bool flush = true;       ///< the cache before timed launches
  bool rules = true;       ///< else nothing counts as cheating
  double timeout_s = 0;    ///< the evaluator's deadline, for pacing the timing
  size_t batch_bytes = 0;  ///< for launches that are measured together
  size_t input_bytes = 0;
  size_t result_bytes = 0;
};

/// What a job is to do beside checking the problem.
struct JobOptions {
  uint64_t seed = 0;
  int repetitions = 0;
  bool flush = true;
  bool rules = true;  ///< else nothing counts as cheating
  double timeout_s = 0;
  size_t batch_bytes = size_t{256} << 20;
};

/// The job for all cases of a problem.
Job MakeJob(const Problem& problem, const JobOptions& options,
            std::vector<JobBaseline> baselines = {});

/// What timing a case gave. Sample i is the mean of `batch` launches, of which
/// the first is the candidate's launch number first_launch + i * batch of this
/// case; number 0 was the checked one.
struct Timing {
  int index = 0;  ///< of the case
  int first_launch = 0;
  int batch = 1;
  std::vector<double> times_us;
  /// By baseline of the job: pairwise with times_us, or empty.
  std::vector<std::vector<double>> baselines_us;
  std::vector<int> kept;  ///< the launch in each slot, from the second slot on
  std::vector<int>
      read;  ///< 0: its inputs, found unchanged, are not in the slot
  /// Where samples are of several launches: single ones with contents that no
  /// launch has had, and with known ones.
  std::vector<double> fresh_us, known_us;
  double read_limit = 0;  ///< bytes per microsecond, see Device::ReadLimit
  double first_us = 0;    ///< of the checked launch, on the wall clock
  /// Kernels, memsets and device copies of the checked launch, and of the timed
  /// one that had most; -1: unknown.
  int64_t first_work = -1, work = -1;
};

struct Event {
  enum class Kind { kReady, kPrepared, kCase, kTimes, kDone };

  Kind kind = Kind::kDone;
  std::string text;             ///< the device, or what went wrong
  Status status = Status::kOk;  ///< kReady and kDone
  std::string rule;             ///< kDone with kCheating
  int index = 0;                ///< kCase: which; -1: before the first
  int baseline = -1;            ///< kCase, kDone: which one ran; -1: none
  bool reusable = true;         ///< kDone: the worker may take another job
  Timing timing;                ///< kTimes
  /// kPrepared: by baseline, why it takes no part; "" if it does.
  std::vector<std::string> notes;
};

/// A job as text, and back; ParseJob is for what JobText made.
std::string JobText(const Job& job);
Job ParseJob(const std::string& text);

/// False when the other side has gone.
bool SendJob(int socket, const Job& job, const std::vector<int>& memory);
bool ReceiveJob(int socket, Job* job, std::vector<Fd>* memory);

/// SendEvent blocks; ReceiveEvent must be called when there is something to
/// read. False when the other side has gone or talks nonsense.
bool SendEvent(int socket, const Event& event);
bool ReceiveEvent(int socket, Event* event);

}  // namespace jaxkern

#endif  // JAXKERN_CORE_PROTOCOL_H_

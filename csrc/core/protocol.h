/// What the evaluator and a worker say to each other, over a socket of packets
/// that carry descriptors. Never over stdout, which is the candidate's.
///
///   worker -> evaluator   Event{kReady} once, with the device's description
///   evaluator -> worker   Job, with memory: library, inputs, results and, if
///                         there is one, the baseline's library
///   worker -> evaluator   Event{kCase} before each case, Event{kTimes} after
///                         each timed one, Event{kDone} at the end
#ifndef JAXKERN_CORE_PROTOCOL_H_
#define JAXKERN_CORE_PROTOCOL_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

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
  int poison = 0;  ///< outputs: the byte they are filled with before a launch
  Attribute attribute;
};

/// A case, and where the arrays of its compared launches go: each into a slot
/// of the results' memory, outputs as the launch left them and inputs too. The
/// first slot is the checked launch's, the others are for timed ones.
struct JobCase {
  bool timed = false;
  std::vector<JobValue> values;
  /// By variant: where the inputs lie in the block of inputs, in order.
  std::vector<std::vector<size_t>> inputs;
  size_t slots_at = 0;
  size_t slot_bytes = 0;
  int slots = 1;
};

struct Job {
  std::vector<JobCase> cases;
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
Job MakeJob(const Problem& problem, const JobOptions& options);

/// What timing a case gave. Sample i is the mean of `batch` launches, of which
/// the first is the candidate's launch number first_launch + i * batch of this
/// case; number 0 was the checked one.
struct Timing {
  int index = 0;  ///< of the case
  int first_launch = 0;
  int batch = 1;
  std::vector<double> times_us;
  std::vector<double> baseline_us;  ///< pairwise with times_us, or empty
  std::vector<int> kept;  ///< the launch in each slot, from the second slot on
  double read_limit = 0;  ///< bytes per microsecond, see Device::ReadLimit
};

struct Event {
  enum class Kind { kReady, kCase, kTimes, kDone };

  Kind kind = Kind::kDone;
  std::string text;             ///< the device, or what went wrong
  Status status = Status::kOk;  ///< kReady and kDone
  std::string rule;             ///< kDone with kCheating
  int index = 0;                ///< kCase: which
  bool baseline = false;        ///< kCase, kDone: the baseline ran
  bool reusable = true;         ///< kDone: the worker may take another job
  Timing timing;                ///< kTimes
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

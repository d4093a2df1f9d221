/// What the evaluator and a worker say to each other, over a socket of packets
/// that carry descriptors. Never over stdout, which is the candidate's.
///
///   worker -> evaluator   Event{kReady} once, with the device's description
///   evaluator -> worker   Job, with memory: library, inputs, results and, if
///                         there is one, the baseline's library
///   worker -> evaluator   Event{kCase} before each case, Event{kTimes} after
///                         each timing, Event{kDone} at the end
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

/// One argument of one launch.
struct JobValue {
  Argument::Kind kind = Argument::Kind::kAttribute;
  size_t offset = 0;  ///< arrays: in the block of inputs or of results
  size_t bytes = 0;
  int poison = 0;  ///< outputs: the byte they are filled with
  Attribute attribute;
};

struct JobCase {
  bool timed = false;
  std::vector<JobValue> values;
};

/// The results' memory holds the outputs of all cases and, from
/// `inputs_after` on, all inputs as the candidate left them.
struct Job {
  std::vector<JobCase> cases;
  int repetitions = 0;
  double timeout_s = 0;  ///< the evaluator's deadline, for pacing the timing
  size_t input_bytes = 0;
  size_t result_bytes = 0;
  size_t inputs_after = 0;
};

/// The job for all cases of a problem.
Job MakeJob(const Problem& problem, int repetitions, double timeout_s);

struct Event {
  enum class Kind { kReady, kCase, kTimes, kDone };

  Kind kind = Kind::kDone;
  std::string text;              ///< the device, or what went wrong
  Status status = Status::kOk;   ///< kReady and kDone
  int index = 0;                 ///< kCase: which; kTimes: of which
  bool baseline = false;         ///< kCase, kTimes: of the baseline
  bool reusable = true;          ///< kDone: the worker may take another job
  std::vector<double> times_us;  ///< kTimes
};

/// False when the other side has gone.
bool SendJob(int socket, const Job& job, const std::vector<int>& memory);
bool ReceiveJob(int socket, Job* job, std::vector<Fd>* memory);

/// SendEvent blocks; ReceiveEvent must be called when there is something to
/// read. False when the other side has gone or talks nonsense.
bool SendEvent(int socket, const Event& event);
bool ReceiveEvent(int socket, Event* event);

}  // namespace jaxkern

#endif  // JAXKERN_CORE_PROTOCOL_H_

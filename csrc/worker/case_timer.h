/// Timing of one case: candidate and baselines in turns.
#ifndef JAXKERN_WORKER_CASE_TIMER_H_
#define JAXKERN_WORKER_CASE_TIMER_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "backends/device.h"
#include "core/protocol.h"
#include "core/schedule.h"
#include "worker/arguments.h"
#include "worker/inputs.h"

namespace jaxkern {

/// What the parts of a job share.
struct JobContext {
  Device* device;
  const Job& job;
  const char* inputs;  ///< the block of inputs
  char* results;       ///< the block of results
  int channel;
};

/// Tells the evaluator which case runs, and whose code.
void Announce(int channel, int index, int baseline = -1);

/// Before every launch: new inputs at the same addresses and poisoned outputs.
/// After it, for launches drawn after the fact, the outputs into a slot, and at
/// the end of a turn a look at the zones around the arrays. The last launch of
/// the warm-up is among them: in batches each launch has addresses of its own,
/// only there it has those of the one before.
class CaseTimer {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// `launched` launches of the candidate are behind it.
  CaseTimer(const JobContext& context, size_t index, int launched);

  /// Takes samples until all medians are precise, there are enough, or it is
  /// `until`. `baselines` are the job's, null where one takes no part. kOk with
  /// *timing, or how it ended.
  Event Run(Entry candidate, const std::vector<Entry>& baselines, Time until,
            Timing* timing);

 private:
  struct Contestant {
    Entry entry;
    int baseline;  // of the job; -1: the candidate
    int launched;  // of this case
    int batch = 1;
    std::vector<double> times_us = {};
  };

  /// A launch of a batch whose arrays are kept, and where.
  struct Kept {
    int launch;  // of the batch
    int variant;
    int slot;
  };

  /// What a launch finds in its inputs.
  enum class Contents {
    kStored,  ///< the variant whose turn it is
    kFresh,   ///< the same, but no launch has had just these values
    kKnown,   ///< the variant again, after the work that fresh values take
  };

  Event Race(std::vector<Contestant>* contestants, Time until);
  void Report(std::vector<Contestant>* contestants, Timing* timing) const;
  Event WarmUp(Contestant* contestant);
  Event Turn(Contestant* contestant, int samples, Time until);
  Event Recall(Contestant candidate, Timing* timing);
  Event Audit(Contestant* candidate);
  Event Measure(Contestant* contestant, Mode mode, bool keep,
                Measurement* measured, Contents contents = Contents::kStored);
  Event AfterBatch(const Measurement& measured, const std::vector<Kept>& kept);
  DeviceError KeepInputs(const std::vector<Kept>& kept);
  Event CheckZones(const Contestant& contestant) const;
  std::vector<int> Draw(int batch);
  std::pair<Arguments*, size_t> Place(int i) const;
  DeviceError MakeRoom(int batch);
  DeviceError Prepare(Contestant* contestant, Contents contents);
  int SlotFor(int launch);
  int BaselineSlot(const Contestant& baseline, int launch) const;
  char* Slot(int slot) const;

  const JobContext& context_;
  const JobCase& case_;
  size_t index_;
  Inputs inputs_;
  Schedule schedule_;
  uint64_t secret_;
  std::vector<std::unique_ptr<Arguments>> arguments_;  // never moved
  int seen_ = 0;           // launches that could have been kept
  std::vector<int> kept_;  // launches, by slot
  std::vector<int> read_;  // 1: with their inputs
  int first_launch_;
  int64_t work_ = -1;  // of the timed launches, the most
};

}  // namespace jaxkern

#endif  // JAXKERN_WORKER_CASE_TIMER_H_

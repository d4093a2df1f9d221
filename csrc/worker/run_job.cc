#include "worker/run_job.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "backends/torch/include/jaxkern_torch/marks.h"
#include "core/memory_file.h"
#include "core/schedule.h"
#include "worker/arguments.h"
#include "worker/case_timer.h"
#include "worker/judge.h"
#include "worker/library.h"

namespace jaxkern {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

// Of the time until the deadline, what timing may use.
constexpr double kTimingShare = 0.7;
// What is finished after this long, where it was not when it should have been,
// is finished by somebody who was left behind.
constexpr auto kGrace = std::chrono::milliseconds(20);

Clock::time_point After(double seconds) {
  return Clock::now() +
         std::chrono::duration_cast<Clock::duration>(Seconds(seconds));
}

class JobRun {
 public:
  JobRun(const JobContext& context, int threads)
      : context_(context),
        threads_(threads),
        first_(context.job.cases.size()),
        deadline_(After(context.job.timeout_s)) {}

  /// Every case once; what it leaves goes into the case's first slot.
  Event CheckAll(Entry entry) {
    for (size_t i = 0; i < context_.job.cases.size(); ++i) {
      Announce(context_.channel, static_cast<int>(i));
      const Event event = CheckCase(entry, i);
      if (event.status != Status::kOk) return event;
    }
    return Event();
  }

  /// The timed cases, against the baselines.
  Event TimeAll(Entry entry, const std::vector<Entry>& baselines) {
    const std::vector<JobCase>& cases = context_.job.cases;
    auto rounds = std::count_if(cases.begin(), cases.end(),
                                [](const JobCase& c) { return c.timed; });
    for (size_t i = 0; i < cases.size(); ++i) {
      if (!cases[i].timed) continue;
      const double left = Seconds(deadline_ - Clock::now()).count();
      CaseTimer timer(context_, i, /*launched=*/1);
      Event times;
      times.kind = Event::Kind::kTimes;
      const Event event =
          timer.Run(entry, baselines,
                    After(left * kTimingShare / static_cast<double>(rounds--)),
                    &times.timing);
      if (event.status != Status::kOk) return event;
      times.timing.first_us = first_[i].wall_us;
      times.timing.first_work = first_[i].work;
      SendEvent(context_.channel, times);
    }
    return Event();
  }

  /// Nobody may stay behind, as far as the device knows its own threads.
  Event CheckThreads() const {
    const Device& device = *context_.device;
    if (device.OtherThreads() <= threads_) return Event();
    std::this_thread::sleep_for(kGrace);  // the kernel takes its time, too
    const int more = device.OtherThreads() - threads_;
    if (more <= 0) return Event();
    return Cheating("left_threads",
                    std::to_string(more) +
                        " host threads were still there after launch had "
                        "returned");
  }

 private:
  Event CheckCase(Entry entry, size_t index) {
    const JobCase& c = context_.job.cases[index];
    Schedule schedule(context_.job.seed, static_cast<int>(index),
                      static_cast<int>(c.inputs.size()));
    const Inputs inputs(context_.device, c, context_.inputs);
    Arguments arguments(context_.device, c);
    DeviceError error = arguments.Allocate();
    if (error.code == 0) error = arguments.Fill(inputs, {schedule.Variant(0)});
    if (error.code != 0) return NotSetUp(error);
    char* slot = context_.results + c.slots_at;
    Batch batch{entry, {arguments.pointers(0)}, {}};
    arguments.AddSnapshots(0, slot, &batch.snapshots);
    Measurement measured;
    error = context_.device->Measure(batch, Mode(), &measured);
    const Event event = Judge(error, measured);
    if (event.status != Status::kOk) return event;
    first_[index] = measured;
    return AfterCheck(arguments, measured, slot);
  }

  Event AfterCheck(const Arguments& arguments, const Measurement& measured,
                   char* slot) {
    std::string overrun, changed;
    DeviceError error = arguments.CheckZones(&overrun);
    if (error.code == 0) error = arguments.ReadInputs(0, slot);
    const bool partial = arguments.HoldsPoison(slot);
    if (error.code == 0) {
      if (partial) std::this_thread::sleep_for(kGrace);
      error = arguments.FindChanged(slot, &changed);
    }
    if (error.code != 0) return Judge(error, {});
    if (!overrun.empty()) return Failed(Status::kRuntimeError, overrun);
    if (!changed.empty()) {
      return Cheating("late_output",
                      changed + " changed after the stream had finished");
    }
    if (measured.work == 0 && !partial && arguments.HasOutput()) {
      return Cheating("no_kernel",
                      "the outputs were written, but no kernel was launched");
    }
    return JudgeHostWrite(arguments.FilledFromHost(measured.host_writes));
  }

  const JobContext& context_;
  const int threads_;               // before the candidate was loaded
  std::vector<Measurement> first_;  // the checked launches, by case
  const Clock::time_point deadline_;
};

Event RunLoaded(const JobContext& context, int threads, Entry entry,
                const std::vector<Entry>& baselines) {
  JobRun run(context, threads);
  Event event = run.CheckAll(entry);
  if (event.status == Status::kOk && context.job.repetitions > 0) {
    event = run.TimeAll(entry, baselines);
  }
  return event.status == Status::kOk ? run.CheckThreads() : event;
}

/// Of an exception that says what is to become of it (torch's form) or not.
Event Thrown(const std::string& what) {
  const std::string wrong = JAXKERN_TORCH_WRONG;
  const std::string unsupported = JAXKERN_TORCH_UNSUPPORTED;
  if (what.compare(0, wrong.size(), wrong) == 0) {
    return Failed(Status::kWrongAnswer, what.substr(wrong.size()));
  }
  if (what.compare(0, unsupported.size(), unsupported) == 0) {
    return Failed(Status::kUnsupported,
                  "not provided: " + what.substr(unsupported.size()));
  }
  return Failed(Status::kRuntimeError, "uncaught exception in launch: " + what);
}

/// What `run` returns, or what it throws as a fault of the candidate's.
template <class Run>
Event Caught(Run run) {
  try {
    return run();
  } catch (const std::bad_alloc&) {
    return Failed(Status::kOutOfMemory, "std::bad_alloc in launch");
  } catch (const std::exception& error) {
    return Thrown(error.what());
  } catch (...) {
    return Failed(Status::kRuntimeError, "uncaught exception in launch");
  }
}

/// The inputs are mapped when the candidate's constructors are through: there
/// is nothing for them to work on.
Event Load(Device* device, const Job& job, std::vector<Fd> memory,
           const std::vector<Entry>& baselines, int channel) {
  const int threads = device->OtherThreads();
  const Library library(*device, std::move(memory[0]));
  if (library.entry() == nullptr) {
    return Failed(Status::kLinkError, library.error());
  }
  const Mapping inputs(memory[1].get(), job.input_bytes, /*writable=*/false);
  const Mapping results(memory[2].get(), job.result_bytes, /*writable=*/true);
  if (inputs.bytes != job.input_bytes || results.bytes != job.result_bytes) {
    return Failed(Status::kInfraError, "no memory for a job's arrays");
  }
  EnforceRules(job.rules);
  const JobContext context{device, job, inputs.data, results.data, channel};
  // While the library is there: an exception's class may be its own.
  return Caught(
      [&] { return RunLoaded(context, threads, library.entry(), baselines); });
}

}  // namespace

Event RunJob(Device* device, const Job& job, std::vector<Fd> memory,
             const std::vector<Entry>& baselines, int channel) {
  return Caught(
      [&] { return Load(device, job, std::move(memory), baselines, channel); });
}

}  // namespace jaxkern

#include "worker/run_job.h"

#include <cxxabi.h>
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "core/entry.h"
#include "core/memory_file.h"
#include "worker/cuda_error.h"

namespace jaxkern {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kWarmup = 1;
// Of the time until the deadline, what timing may use.
constexpr double kTimingShare = 0.7;

Event Failed(Status status, const std::string& text) {
  Event event;
  event.status = status;
  event.text = text;
  return event;
}

/// What a launch's outcome means for the candidate.
Event Judge(const DeviceError& error, int returned) {
  const int code = error.code != 0 ? error.code : returned;
  Event event;
  if (code == 0) return event;
  event.text = error.message.empty()
                   ? "launch returned " + CudaErrorName(returned)
                   : error.message;
  event.reusable = !error.fatal;
  if (error.unsupported) {
    event.status = Status::kUnsupported;
  } else if (error.out_of_memory || code == kCudaErrorMemoryAllocation) {
    event.status = Status::kOutOfMemory;
  } else if (error.fatal || IsCudaFault(code)) {
    event.status = Status::kRuntimeError;
  } else {
    event.status = Status::kLaunchError;
  }
  return event;
}

/// "undefined symbol: _Z1fv" with the name as it was written.
std::string LoadError(const char* message) {
  std::string text = message != nullptr ? message : "cannot be loaded";
  const std::string mark = "undefined symbol: ";
  const size_t at = text.find(mark);
  if (at == std::string::npos) return text;
  std::string name = text.substr(at + mark.size());
  name = name.substr(0, name.find_first_of(", ("));
  int failed = 0;
  char* plain = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &failed);
  if (failed == 0) name = plain;
  std::free(plain);
  return mark + name;
}

/// A library that is unloaded in the end.
class Library {
 public:
  explicit Library(Fd memory)
      : memory_(std::move(memory)),
        path_("/proc/self/fd/" + std::to_string(memory_.get())),
        handle_(dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr) error_ = LoadError(dlerror());
  }
  ~Library() {
    if (handle_ == nullptr) return;
    dlclose(handle_);
    // Code with unique symbols stays loaded, under a name that contains the
    // descriptor's number: then nobody else may ever have that number.
    if (dlopen(path_.c_str(), RTLD_NOW | RTLD_NOLOAD) != nullptr) {
      new Fd(std::move(memory_));
    }
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  Entry entry() const {
    return handle_ == nullptr
               ? nullptr
               : reinterpret_cast<Entry>(dlsym(handle_, kEntrySymbol));
  }
  const std::string& error() const { return error_; }

 private:
  Fd memory_;
  std::string path_;
  void* handle_;
  std::string error_;
};

/// The buffers and argument pointers of one case, on the device.
class Arguments {
 public:
  Arguments(Device* device, const JobCase& c) : device_(device), case_(c) {
    values_ = c.values;
    buffers_.assign(values_.size(), nullptr);
    for (size_t i = 0; i < values_.size(); ++i) {
      pointers_.push_back(IsArray(i) ? static_cast<void*>(&buffers_[i])
                                     : AddressOf(&values_[i].attribute));
    }
  }
  ~Arguments() {
    for (void* buffer : buffers_) {
      if (buffer != nullptr) device_->Free(buffer);
    }
  }
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;

  /// Allocates, copies inputs in and poisons outputs.
  DeviceError Fill(const char* inputs) {
    DeviceError error;
    for (size_t i = 0; i < values_.size() && error.code == 0; ++i) {
      if (!IsArray(i)) continue;
      const size_t bytes = std::max<size_t>(values_[i].bytes, 1);
      if (buffers_[i] == nullptr) {
        error = device_->Allocate(bytes, &buffers_[i]);
        if (error.code != 0) break;
        device_->Expose(buffers_[i], values_[i].bytes);
      }
      error = values_[i].kind == Argument::Kind::kInput
                  ? device_->CopyIn(buffers_[i], inputs + values_[i].offset,
                                    values_[i].bytes)
                  : device_->Fill(buffers_[i], values_[i].poison, bytes);
    }
    return error;
  }

  /// Outputs, and the inputs as they are now, to where the job wants them.
  DeviceError Read(const Job& job, char* results) {
    DeviceError error;
    for (size_t i = 0; i < values_.size() && error.code == 0; ++i) {
      if (!IsArray(i)) continue;
      const bool input = values_[i].kind == Argument::Kind::kInput;
      error = device_->CopyOut(
          results + values_[i].offset + (input ? job.inputs_after : 0),
          buffers_[i], values_[i].bytes);
    }
    return error;
  }

  void** pointers() { return pointers_.data(); }
  bool timed() const { return case_.timed; }

 private:
  bool IsArray(size_t i) const {
    return values_[i].kind != Argument::Kind::kAttribute;
  }
  static void* AddressOf(Attribute* attribute) {
    return std::visit([](auto& value) { return static_cast<void*>(&value); },
                      *attribute);
  }

  Device* device_;
  const JobCase& case_;
  std::vector<JobValue> values_;
  std::vector<void*> buffers_;
  std::vector<void*> pointers_;
};

class JobRun {
 public:
  JobRun(Device* device, const Job& job, const char* inputs, char* results,
         int channel)
      : device_(device),
        job_(job),
        inputs_(inputs),
        results_(results),
        channel_(channel),
        deadline_(Clock::now() +
                  std::chrono::duration_cast<Clock::duration>(
                      std::chrono::duration<double>(job.timeout_s))) {}

  /// Every case once; their results.
  Event CheckAll(Entry entry) {
    for (size_t i = 0; i < job_.cases.size(); ++i) {
      Announce(i, /*baseline=*/false);
      Arguments arguments(device_, job_.cases[i]);
      Event event = FillOrFail(&arguments);
      if (event.status != Status::kOk) return event;
      event = Launch(entry, &arguments);
      if (event.status != Status::kOk) return event;
      const DeviceError error = arguments.Read(job_, results_);
      if (error.code != 0) return Judge(error, 0);
    }
    return Event();
  }

  /// The timed cases, `rounds` of them still to be timed by this job.
  Event TimeAll(Entry entry, bool baseline, int rounds) {
    for (size_t i = 0; i < job_.cases.size(); ++i) {
      if (!job_.cases[i].timed) continue;
      Announce(i, baseline);
      Arguments arguments(device_, job_.cases[i]);
      Event event = FillOrFail(&arguments);
      if (event.status != Status::kOk) return event;
      const auto start = Clock::now();
      event = Launch(entry, &arguments);
      if (event.status != Status::kOk) return event;
      const double once_s =
          std::chrono::duration<double>(Clock::now() - start).count();
      Event times;
      times.kind = Event::Kind::kTimes;
      times.index = static_cast<int>(i);
      times.baseline = baseline;
      const DeviceError error =
          device_->Time(entry, arguments.pointers(), kWarmup,
                        Repetitions(once_s, rounds--), &times.times_us);
      if (error.code != 0) return Judge(error, 0);
      SendEvent(channel_, times);
    }
    return Event();
  }

 private:
  void Announce(size_t index, bool baseline) {
    Event event;
    event.kind = Event::Kind::kCase;
    event.index = static_cast<int>(index);
    event.baseline = baseline;
    SendEvent(channel_, event);
  }

  /// Our own buffers not fitting is not the candidate's doing.
  Event FillOrFail(Arguments* arguments) {
    const DeviceError error = arguments->Fill(inputs_);
    if (error.code == 0) return Event();
    Event event = Failed(Status::kInfraError,
                         "cannot set up the case's buffers: " + error.message);
    event.reusable = false;
    return event;
  }

  Event Launch(Entry entry, Arguments* arguments) {
    int returned = 0;
    const DeviceError error =
        device_->Run(entry, arguments->pointers(), &returned);
    return Judge(error, returned);
  }

  /// As many as were asked for, or as the time left allows.
  int Repetitions(double once_s, int rounds) const {
    const double left =
        std::chrono::duration<double>(deadline_ - Clock::now()).count();
    const double affordable =
        left * kTimingShare / std::max(rounds, 1) / std::max(once_s, 1e-9);
    return static_cast<int>(std::clamp(affordable - kWarmup, 1.0,
                                       static_cast<double>(job_.repetitions)));
  }

  Device* device_;
  const Job& job_;
  const char* inputs_;
  char* results_;
  int channel_;
  Clock::time_point deadline_;
};

Event RunLoaded(JobRun* run, const Job& job, const Library& library,
                const Library* baseline) {
  Event event = run->CheckAll(library.entry());
  if (event.status != Status::kOk || job.repetitions == 0) return event;
  int rounds = 0;
  for (const JobCase& c : job.cases) rounds += c.timed ? 1 : 0;
  event = run->TimeAll(library.entry(), /*baseline=*/false,
                       baseline != nullptr ? 2 * rounds : rounds);
  if (event.status != Status::kOk || baseline == nullptr) return event;
  return run->TimeAll(baseline->entry(), /*baseline=*/true, rounds);
}

}  // namespace

Event RunJob(Device* device, const Job& job, std::vector<Fd> memory,
             int channel) {
  const Mapping inputs(memory[1].get(), job.input_bytes, /*writable=*/false);
  const Mapping results(memory[2].get(), job.result_bytes, /*writable=*/true);
  if (inputs.bytes != job.input_bytes || results.bytes != job.result_bytes) {
    return Failed(Status::kInfraError, "no memory for a job's arrays");
  }
  JobRun run(device, job, inputs.data, results.data, channel);
  try {
    const Library library(std::move(memory[0]));
    if (library.entry() == nullptr) {
      return Failed(Status::kLinkError, library.error());
    }
    std::unique_ptr<Library> baseline;
    if (memory.size() > 3 && job.repetitions > 0) {
      baseline = std::make_unique<Library>(std::move(memory[3]));
      if (baseline->entry() == nullptr) {
        return Failed(Status::kInfraError, "baseline: " + baseline->error());
      }
    }
    return RunLoaded(&run, job, library, baseline.get());
  } catch (const std::bad_alloc&) {
    return Failed(Status::kOutOfMemory, "std::bad_alloc in launch");
  } catch (const std::exception& error) {
    return Failed(Status::kRuntimeError,
                  std::string("uncaught exception in launch: ") + error.what());
  } catch (...) {
    return Failed(Status::kRuntimeError, "uncaught exception in launch");
  }
}

}  // namespace jaxkern

#include "worker/baselines.h"

#include <dlfcn.h>

#include <utility>

#include "worker/arguments.h"
#include "worker/case_timer.h"
#include "worker/judge.h"

namespace jaxkern {
namespace {

constexpr size_t kOtherMemory = 3;  // library, inputs, results

/// Stays open: libraries like cuBLAS take seconds to load and do not expect to
/// be unloaded. Under its own name, so that the baseline finds it.
bool Open(const std::string& file, std::string* note) {
  if (dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE) != nullptr) {
    return true;
  }
  *note = dlerror();
  return false;
}

}  // namespace

Event Baselines::Prepare(std::vector<Fd>* memory, int channel) {
  Event prepared;
  prepared.kind = Event::Kind::kPrepared;
  for (size_t i = 0; i < job_.baselines.size(); ++i) {
    Announce(channel, /*index=*/-1, static_cast<int>(i));
    std::string note;
    Event event = PrepareOne(job_.baselines[i],
                             std::move(memory->at(kOtherMemory + i)), &note);
    event.baseline = static_cast<int>(i);
    if (event.status != Status::kOk) return event;
    prepared.notes.push_back(note);
  }
  memory->resize(kOtherMemory);
  SendEvent(channel, prepared);
  return Event();
}

Event Baselines::PrepareOne(const JobBaseline& baseline, Fd memory,
                            std::string* note) {
  libraries_.emplace_back();
  for (const std::string& file : baseline.libraries) {
    if (!Open(file, note)) return Event();
  }
  auto library = std::make_unique<Library>(*device_, std::move(memory));
  if (library->entry() == nullptr) {
    *note = library->error().empty() ? "has no launch" : library->error();
    return Event();
  }
  for (const JobCase& c : job_.cases) {
    if (!baseline.tried || !c.timed) continue;
    const DeviceError error = LaunchOnZeros(library->entry(), c);
    if (error.code == 0) continue;
    *note = error.message;
    if (!error.fatal) return Event();
    Event lost = Failed(Status::kInfraError, error.message);
    lost.reusable = false;
    return lost;
  }
  libraries_.back() = std::move(library);
  return Event();
}

/// Whatever a library sets up or keeps in its first call is there then, and no
/// answer is.
DeviceError Baselines::LaunchOnZeros(Entry entry, const JobCase& c) {
  Arguments arguments(device_, c);
  DeviceError error = arguments.Allocate();
  if (error.code == 0) error = arguments.FillWithZeros();
  if (error.code != 0) return error;
  Measurement measured;
  error =
      device_->Measure({entry, {arguments.pointers(0)}, {}}, Mode(), &measured);
  if (error.code == 0 && measured.returned != 0) {
    error.code = measured.returned;
    error.message = "launch returned " + std::to_string(measured.returned);
  }
  return error;
}

std::vector<Entry> Baselines::entries() const {
  std::vector<Entry> entries;
  for (const auto& library : libraries_) {
    entries.push_back(library ? library->entry() : nullptr);
  }
  return entries;
}

}  // namespace jaxkern

#include "worker/case_timer.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>

#include "core/statistics.h"
#include "worker/audit.h"
#include "worker/judge.h"

namespace jaxkern {
namespace {

using Clock = std::chrono::steady_clock;

// Warm-up decides about batches only, never about how many samples there are.
constexpr int kWarmup = 2;
constexpr int kTurn = 5;  // samples before the other contestant's turn
constexpr size_t kFewestSamples = 10;
constexpr double kBatchUs = 100;  // what surrounds a batch takes some 2 us
// Launches of a batch whose arrays are kept: copying and comparing all takes
// longer than running them. Whoever leaves out a tenth of the work, for a tenth
// of the time, gets past 20 batches once in 500 times.
constexpr int kLooks = 3;
constexpr int kAudits = 3;
constexpr int kRecalls = 6;
constexpr double kSlowUs = 1e5;  // enough for one warm-up to be warm

}  // namespace

void Announce(int channel, int index, int baseline) {
  Event event;
  event.kind = Event::Kind::kCase;
  event.index = index;
  event.baseline = baseline;
  SendEvent(channel, event);
}

CaseTimer::CaseTimer(const JobContext& context, size_t index, int launched)
    : context_(context),
      case_(context.job.cases[index]),
      index_(index),
      inputs_(context.device, case_, context.inputs),
      schedule_(context.job.seed, static_cast<int>(index),
                static_cast<int>(case_.inputs.size())),
      secret_(SecretBits()),
      first_launch_(launched) {}

Event CaseTimer::Run(Entry candidate, const std::vector<Entry>& baselines,
                     Time until, Timing* timing) {
  std::vector<Contestant> contestants = {{candidate, -1, first_launch_}};
  for (size_t b = 0; b < baselines.size(); ++b) {
    if (baselines[b] == nullptr) continue;
    contestants.push_back({baselines[b], static_cast<int>(b), 0});
  }
  const DeviceError unprepared = inputs_.Store(context_.job.batch_bytes);
  if (unprepared.code != 0) return NotSetUp(unprepared);
  Event event;
  // The candidate comes last: what it does next is its own again.
  for (size_t i = contestants.size(); i-- > 0;) {
    Announce(context_.channel, static_cast<int>(index_),
             contestants[i].baseline);
    event = WarmUp(&contestants[i]);
    if (event.status != Status::kOk) return event;
  }
  first_launch_ = contestants[0].launched;
  event = Race(&contestants, until);
  if (event.status != Status::kOk) return event;
  // What comes now, whatever it is, is the candidate's again.
  Announce(context_.channel, static_cast<int>(index_), /*baseline=*/-1);
  event = Audit(&contestants[0]);
  if (event.status != Status::kOk) return event;
  event = Recall(contestants[0], timing);
  if (event.status != Status::kOk) return event;
  timing->baselines_us.resize(baselines.size());
  Report(&contestants, timing);
  return event;
}

Event CaseTimer::Race(std::vector<Contestant>* contestants, Time until) {
  const auto enough = [&] {
    return contestants->front().times_us.size() >= kFewestSamples &&
           std::all_of(
               contestants->begin(), contestants->end(),
               [](const Contestant& c) { return IsPrecise(c.times_us); });
  };
  const uint64_t seed = context_.job.seed + index_;
  size_t round = 0;
  for (int left = context_.job.repetitions;
       left > 0 && !enough() && (round == 0 || Clock::now() < until);
       left -= kTurn, ++round) {
    for (const size_t i : RoundOrder(seed, contestants->size(), round)) {
      const Event event =
          Turn(&(*contestants)[i], std::min(left, kTurn), until);
      if (event.status != Status::kOk) return event;
    }
  }
  return Event();
}

void CaseTimer::Report(std::vector<Contestant>* contestants,
                       Timing* timing) const {
  size_t pairs = SIZE_MAX;  // one may have been cut short
  for (const Contestant& c : *contestants) {
    pairs = std::min(pairs, c.times_us.size());
  }
  for (Contestant& c : *contestants) {
    c.times_us.resize(pairs);
    if (c.baseline >= 0) {
      timing->baselines_us[static_cast<size_t>(c.baseline)] = c.times_us;
    }
  }
  timing->index = static_cast<int>(index_);
  timing->first_launch = first_launch_;
  timing->batch = contestants->front().batch;
  timing->times_us = contestants->front().times_us;
  timing->kept = kept_;
  timing->read = read_;
  timing->read_limit = context_.device->ReadLimit();
  timing->work = work_;
}

/// Launches that are not timed, and how many shall make one sample.
Event CaseTimer::WarmUp(Contestant* contestant) {
  double fastest_us = 0;
  const bool can_keep = contestant->baseline < 0 && case_.slots > 2;
  for (int i = 0; i < kWarmup; ++i) {
    Measurement measured;
    const Event event = Measure(contestant, Mode{context_.job.flush, true},
                                can_keep && i == kWarmup - 1, &measured);
    if (event.status != Status::kOk) return event;
    fastest_us =
        i == 0 ? measured.device_us : std::min(fastest_us, measured.device_us);
    if (measured.wall_us > kSlowUs) break;
  }
  const double wanted = std::ceil(kBatchUs / std::max(fastest_us, 0.1));
  const double room = static_cast<double>(
      context_.job.batch_bytes / std::max<size_t>(Arguments::Bytes(case_), 1));
  contestant->batch = static_cast<int>(
      std::clamp(std::min(wanted, room), 1.0,
                 static_cast<double>(context_.device->MaxBatch())));
  return CheckZones(*contestant);
}

Event CaseTimer::Turn(Contestant* contestant, int samples, Time until) {
  Announce(context_.channel, static_cast<int>(index_), contestant->baseline);
  for (int i = 0; i < samples; ++i) {
    if (i > 0 && Clock::now() > until) break;
    Measurement measured;
    const Event event = Measure(contestant, Mode{context_.job.flush, true},
                                contestant->baseline < 0, &measured);
    if (event.status != Status::kOk) return event;
    contestant->times_us.push_back(measured.device_us / contestant->batch);
    if (contestant->baseline < 0) {
      work_ = std::max(work_, measured.work / contestant->batch);
    }
  }
  return CheckZones(*contestant);
}

/// Single launches with new contents and with known ones: in batches the few
/// variants are used up before they could be told apart by time.
Event CaseTimer::Recall(Contestant candidate, Timing* timing) {
  if (candidate.batch == 1) return Event();
  candidate.batch = 1;
  for (int i = 0; i < 2 * kRecalls; ++i) {
    const bool fresh = i % 2 == 0;
    Measurement measured;
    const Event event =
        Measure(&candidate, Mode{context_.job.flush, true}, false, &measured,
                fresh ? Contents::kFresh : Contents::kKnown);
    if (event.status != Status::kOk) return event;
    (fresh ? timing->fresh_us : timing->known_us).push_back(measured.device_us);
  }
  return CheckZones(candidate);
}

/// Launches on an idle device, between two readings of the host's clock.
Event CaseTimer::Audit(Contestant* candidate) {
  Measurement least;
  for (int i = 0; i < kAudits; ++i) {
    Measurement measured;
    const Event event =
        Measure(candidate, Mode{context_.job.flush, false}, false, &measured);
    if (event.status != Status::kOk) return event;
    least = i == 0 ? measured : Least(least, measured);
    if (Contradiction(least).status == Status::kOk) break;
  }
  const Event event = Contradiction(least);
  return event.status == Status::kOk ? CheckZones(*candidate) : event;
}

/// One batch with all that belongs before and after it.
Event CaseTimer::Measure(Contestant* contestant, Mode mode, bool keep,
                         Measurement* measured, Contents contents) {
  const DeviceError unprepared = Prepare(contestant, contents);
  if (unprepared.code != 0) return NotSetUp(unprepared);
  Batch batch;
  batch.entry = contestant->entry;
  std::vector<Kept> kept;
  const std::vector<int> looks =
      keep ? Draw(contestant->batch) : std::vector<int>();
  for (int i = 0; i < contestant->batch; ++i) {
    const auto [arguments, set] = Place(i);
    batch.arguments.push_back(arguments->pointers(set));
    const int launch = contestant->launched + i;
    const int slot =
        contestant->baseline >= 0 ? BaselineSlot(*contestant, launch)
        : std::count(looks.begin(), looks.end(), i) ? SlotFor(launch)
                                                    : -1;
    if (slot < 0) continue;
    arguments->AddSnapshots(set, Slot(slot), &batch.snapshots);
    kept.push_back({i, schedule_.Variant(launch), slot});
  }
  contestant->launched += contestant->batch;
  const DeviceError error = context_.device->Measure(batch, mode, measured);
  if (contestant->baseline >= 0) {  // the rules are for candidates
    measured->unjoined = 0;
    measured->host_writes.clear();
  }
  Event event = Judge(error, *measured);
  if (event.status == Status::kOk) {
    event = AfterBatch(*measured, kept);
  }
  event.baseline = contestant->baseline;
  return event;
}

/// Which of a batch's launches are looked at; none is known before.
std::vector<int> CaseTimer::Draw(int batch) {
  std::vector<int> drawn(static_cast<size_t>(batch));
  std::iota(drawn.begin(), drawn.end(), 0);
  const size_t looks = std::min<size_t>(kLooks, drawn.size());
  for (size_t i = 0; i < looks; ++i) {
    std::swap(drawn[i], drawn[i + NextBits(&secret_) % (drawn.size() - i)]);
  }
  drawn.resize(looks);
  return drawn;
}

/// Where the arguments of a batch's i-th launch are.
std::pair<Arguments*, size_t> CaseTimer::Place(int i) const {
  auto set = static_cast<size_t>(i);
  for (const auto& arguments : arguments_) {
    if (set < arguments->sets()) return {arguments.get(), set};
    set -= arguments->sets();
  }
  return {nullptr, 0};
}

/// More sets when a larger batch comes; those that there are keep their
/// addresses.
DeviceError CaseTimer::MakeRoom(int batch) {
  size_t missing = static_cast<size_t>(batch);
  for (const auto& arguments : arguments_) {
    missing -= std::min(missing, arguments->sets());
  }
  if (missing == 0) return {};
  arguments_.push_back(std::make_unique<Arguments>(context_.device, case_,
                                                   Layout::kGuarded, missing));
  return arguments_.back()->Allocate();
}

DeviceError CaseTimer::Prepare(Contestant* contestant, Contents contents) {
  DeviceError error = MakeRoom(contestant->batch);
  if (error.code == 0 && contents != Contents::kStored) {
    return arguments_[0]->FillByHost(inputs_,
                                     schedule_.Variant(contestant->launched),
                                     contents == Contents::kFresh, &secret_);
  }
  int launch = contestant->launched;
  const int end = launch + contestant->batch;
  for (size_t i = 0; launch < end && error.code == 0; ++i) {
    std::vector<int> variants;
    for (; launch < end && variants.size() < arguments_[i]->sets(); ++launch) {
      variants.push_back(schedule_.Variant(launch));
    }
    error = arguments_[i]->Fill(inputs_, variants);
  }
  return error;
}

Event CaseTimer::AfterBatch(const Measurement& measured,
                            const std::vector<Kept>& kept) {
  for (const auto& arguments : arguments_) {
    const Event event =
        JudgeHostWrite(arguments->FilledFromHost(measured.host_writes));
    if (event.status != Status::kOk) return event;
  }
  const DeviceError error = KeepInputs(kept);
  return error.code == 0 ? Event() : Judge(error, {});
}

/// Inputs go into the slots of a batch if the device cannot say that all are
/// what they were: copying them takes longer than comparing.
DeviceError CaseTimer::KeepInputs(const std::vector<Kept>& kept) {
  std::vector<Twins> twins;
  DeviceError error;
  bool read = false;
  for (const Kept& look : kept) {
    const auto [arguments, set] = Place(look.launch);
    read |= look.slot >= case_.slots ||
            !arguments->AddInputs(set, inputs_, look.variant, &twins);
  }
  if (!read && !twins.empty())
    error = context_.device->FindDifferent(twins, &read);
  for (const Kept& look : kept) {
    if (look.slot < case_.slots) {
      read_[static_cast<size_t>(look.slot) - 1] = read;
    }
    if (!read || error.code != 0) continue;
    const auto [arguments, set] = Place(look.launch);
    error = arguments->ReadInputs(set, Slot(look.slot));
  }
  return error;
}

/// What is written around the arrays stays there: it is looked for when a
/// contestant's turn is over, and is its doing.
Event CaseTimer::CheckZones(const Contestant& contestant) const {
  Event event;
  for (const auto& arguments : arguments_) {
    std::string overrun;
    const DeviceError error = arguments->CheckZones(&overrun);
    if (error.code != 0) event = Judge(error, {});
    if (!overrun.empty()) event = Failed(Status::kRuntimeError, overrun);
    if (event.status != Status::kOk) break;
  }
  event.baseline = contestant.baseline;
  return event;
}

/// Where the launch's arrays go; -1: they are not compared. All launches that
/// are looked at as long as there are slots, then each with the same chance
/// (reservoir sampling), decided just before it; one of the warm-up stays.
int CaseTimer::SlotFor(int launch) {
  const int slots = case_.slots - 1;
  size_t slot = kept_.size();
  if (seen_ < slots) {
    kept_.push_back(launch);
    read_.push_back(1);
  } else {
    slot = NextBits(&secret_) % (static_cast<uint64_t>(seen_) + 1);
    if (slot == 0 && kept_[0] < first_launch_) slot = kept_.size();
    if (slot < kept_.size()) kept_[slot] = launch;
  }
  ++seen_;
  return slot < kept_.size() ? static_cast<int>(slot) + 1 : -1;
}

/// A baseline's first launch is compared, too: only what is right counts.
int CaseTimer::BaselineSlot(const Contestant& baseline, int launch) const {
  return launch > 0 ? -1 : case_.slots + baseline.baseline;
}

char* CaseTimer::Slot(int slot) const {
  return context_.results + case_.slots_at +
         static_cast<size_t>(slot) * case_.slot_bytes;
}

}  // namespace jaxkern

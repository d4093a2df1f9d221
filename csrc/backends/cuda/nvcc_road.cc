#include "backends/cuda/nvcc_road.h"

#include <algorithm>
#include <atomic>
#include <fstream>
#include <sstream>
#include <system_error>
#include <thread>

#include "core/compiler_end.h"

namespace jaxkern {
namespace {

// A guess at what cudafe++ will name the unit, which cicc asks for long before
// it is known. Only what has no linkage gets the name into its own, so if the
// guess is in nothing that cicc wrote, the true one would not be, either.
constexpr char kGuess[] = "_00000000_9_kernel_cu_jaxkernguess";
constexpr char kGuessFile[] = "kernel.guess";
constexpr char kGuessMark[] = "jaxkernguess";
// Candidates may bring flags of their own.
constexpr size_t kKnownCommands = 256;

std::string ReadFile(const std::string& path) {
  std::ostringstream contents;
  contents << std::ifstream(path, std::ios::binary).rdbuf();
  return contents.str();
}

/// One run of the steps.
class SideBySide {
 public:
  SideBySide(const NvccSteps& steps, const Workshop& workshop)
      : steps_(steps), workshop_(workshop), directory_(workshop.Directory()) {}

  /// As if nvcc had ended so. Where there are too few processes for both halves
  /// at once, one after the other, which takes fewer than nvcc.
  Ended All() {
    std::ofstream(directory_ + "/" + kGuessFile) << kGuess;
    std::thread beside;
    Ended device;
    try {
      beside = std::thread([&] { device = DeviceHalf(); });
    } catch (const std::system_error&) {
      return OneAfterTheOther();
    }
    Ended host = HostHalf();
    beside.join();
    const bool starved = IsStarved(host) || IsStarved(device);
    return starved ? OneAfterTheOther() : Join(std::move(host), device);
  }

 private:
  static bool IsStarved(const Ended& ended) {
    return ended.starved || (ended.exit_code > 0 && SaysStarved(ended.output));
  }

  Ended OneAfterTheOther() {
    Ended host = HostHalf();
    if (host_failed_) return host;
    return Join(std::move(host), DeviceHalf());
  }

  Ended Join(Ended host, Ended device) const {
    if (host.exit_code != 0) return host;
    if (guess_is_used_) {
      device = InTurn(
          {NvccSteps::kDeviceFront, NvccSteps::kAssemble, NvccSteps::kPack});
    }
    device.output = host.output + device.output;
    if (device.exit_code != 0) return device;
    Ended rest = InTurn({NvccSteps::kHost, NvccSteps::kLink});
    rest.output = device.output + rest.output;
    return rest;
  }

  Ended HostHalf() {
    Ended host = InTurn({NvccSteps::kHostText, NvccSteps::kHostFront});
    host_failed_ = host.exit_code != 0;
    return host;
  }

  Ended DeviceHalf() {
    guess_is_used_ = false;
    Ended text = InTurn({NvccSteps::kDeviceText});
    if (text.exit_code != 0 || host_failed_) return text;
    Ended front = workshop_.Run(WithGuess(), directory_);
    guess_is_used_ = HasGuess(front.output) || HasGuess(Written(steps_.stub)) ||
                     HasGuess(Written(steps_.ptx));
    front.output = text.output + front.output;
    if (front.exit_code != 0 || guess_is_used_ || host_failed_) return front;
    Ended rest = InTurn({NvccSteps::kAssemble, NvccSteps::kPack});
    rest.output = front.output + rest.output;
    return rest;
  }

  /// Up to the first that fails; the output of all.
  Ended InTurn(std::initializer_list<NvccSteps::Step> steps) const {
    Ended ended;
    std::string output;
    for (const NvccSteps::Step step : steps) {
      ended = workshop_.Run(steps_.In(directory_, step), directory_);
      output += ended.output;
      if (ended.exit_code != 0) break;
    }
    ended.output = std::move(output);
    return ended;
  }

  std::vector<std::string> WithGuess() const {
    auto argv = steps_.In(directory_, NvccSteps::kDeviceFront);
    std::replace(argv.begin(), argv.end(), steps_.identity,
                 std::string(kGuessFile));
    return argv;
  }

  std::string Written(const std::string& name) const {
    return ReadFile(directory_ + "/" + name);
  }

  static bool HasGuess(const std::string& text) {
    return text.find(kGuessMark) != std::string::npos;
  }

  const NvccSteps& steps_;
  const Workshop& workshop_;
  const std::string directory_;
  std::atomic<bool> host_failed_{false};
  bool guess_is_used_ = false;  // the device's half, then who joined it
};

}  // namespace

std::optional<NvccSteps> NvccRoad::StepsOf(
    const std::vector<std::string>& command, const Workshop& workshop) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto known = known_.find(command);
    if (known != known_.end()) return known->second;
  }
  std::vector<std::string> argv = command;
  argv.insert(argv.begin() + 1, {"--dryrun", "--keep"});
  const Ended ended = workshop.Run(argv, workshop.Directory());
  // What went wrong here may go well the next time.
  if (ended.exit_code != 0) return std::nullopt;
  auto steps = ReadDryRun(ended.output, workshop.Directory());
  const std::lock_guard<std::mutex> lock(mutex_);
  if (known_.size() >= kKnownCommands) known_.clear();
  return known_[command] = std::move(steps);
}

std::optional<Ended> NvccRoad::Run(const std::vector<std::string>& command,
                                   const Workshop& workshop) {
  const auto steps = StepsOf(command, workshop);
  if (!steps) return std::nullopt;
  return SideBySide(*steps, workshop).All();
}

}  // namespace jaxkern

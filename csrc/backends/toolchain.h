/// How the evaluator's own process builds candidates for a device. This is the
/// seam between the core and the devices; it runs nothing itself.
#ifndef JAXKERN_BACKENDS_TOOLCHAIN_H_
#define JAXKERN_BACKENDS_TOOLCHAIN_H_

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/subprocess.h"
#include "jaxkern/evaluator.h"

namespace jaxkern {

/// A candidate's text made ready for the device's compiler.
struct Prepared {
  bool supported = true;
  std::string unsupported;  ///< when !supported: the feature, e.g. "inline PTX"
  std::string text;         ///< what to compile, line numbers preserved
};

/// How a baseline gets at the libraries that it names.
struct Libraries {
  std::string missing;  ///< which is not there, and where it was looked for
  std::vector<std::string> flags;  ///< for the compiler, after its own
  /// Files that a worker opens before the baseline, in this order.
  std::vector<std::string> files;
};

/// Where a build of several steps happens. What runs there is in the builder's
/// sandbox and within its limits.
class Workshop {
 public:
  virtual ~Workshop() = default;

  /// The build's own, removed after it.
  virtual const std::string& Directory() const = 0;
  /// A new one that is kept as long as the evaluator; "" if there is none.
  virtual std::string KeptDirectory() const = 0;
  virtual std::chrono::steady_clock::time_point Deadline() const = 0;
  /// Becomes readable when all must stop; -1: never.
  virtual int Cancel() const = 0;

  /// Runs a compiler in `directory`, the only one that it may write in, to its
  /// end or the deadline.
  virtual Ended Run(const std::vector<std::string>& argv,
                    const std::string& directory) const = 0;
  /// Starts one that outlives the build. `channel` becomes its descriptor 3.
  virtual bool Start(const std::vector<std::string>& argv,
                     const std::string& directory, int channel,
                     Subprocess* child) const = 0;
};

/// What became of an attempt to build on a faster road.
struct FastBuild {
  bool done = false;   ///< else Command() is what decides
  Ended ended;         ///< when done: as if one compiler had ended so
  std::string road;    ///< in one word: the one that is taken; "": only one
  std::string reason;  ///< why it is not the faster one; "" if it is
};

class Toolchain {
 public:
  virtual ~Toolchain() = default;

  /// One line for people: "nvcc 13.0.88 (/usr/local/cuda/bin/nvcc, PATH)".
  virtual std::string Describe() const = 0;

  /// Everything besides the source that decides what a build yields: compiler
  /// identity, flags, architecture, our headers. Part of the cache key.
  virtual std::string Fingerprint() const = 0;

  /// The same in parts with names, e.g. "compiler", for people who ask why a
  /// build was not in the cache.
  virtual std::map<std::string, std::string> Parts() const {
    return {{"toolchain", Fingerprint()}};
  }

  /// Whether what is built knows the lines of its source (debug information).
  /// If not, layout and comments do not count where builds are looked up.
  virtual bool KeepsLines() const { return true; }

  /// File name for the source, e.g. "kernel.cu"; the compiler's messages use
  /// it.
  virtual std::string SourceName() const = 0;

  /// Rewrites a candidate. `entry` is C++ text to append: an
  /// `extern "C" int launch(...)` declaration and the `jaxkern_entry`
  /// trampoline that calls it with an array of pointers to its arguments.
  virtual Prepared Prepare(const std::string& source,
                           const std::string& entry) const = 0;

  /// argv that compiles directory/SourceName() to the shared object
  /// directory/kernel.so, with `directory` as the working directory.
  virtual std::vector<std::string> Command(
      const std::string& directory) const = 0;

  /// Builds `text` to kernel.so in the workshop's directory if there is a
  /// faster road than Command() with `flags` behind it that certainly gives the
  /// same. Thread safe.
  virtual FastBuild BuildFast(const std::string& /*text*/,
                              const std::vector<std::string>& /*flags*/,
                              const Workshop& /*workshop*/) const {
    return {};
  }

  /// What Command() with `flags` behind it would do, in steps that run side by
  /// side; none if that is not certain. The source is there already. Thread
  /// safe.
  virtual std::optional<Ended> RunSteps(
      const std::vector<std::string>& /*flags*/,
      const Workshop& /*workshop*/) const {
    return std::nullopt;
  }

  /// "NAME=value" pairs that the worker's environment must hold so that the
  /// device finds there what candidates were linked with here.
  virtual std::vector<std::string> WorkerEnvironment() const { return {}; }

  /// compute-sanitizer's path, if it was found and can examine what this
  /// builds; "": it cannot.
  virtual std::string Sanitizer() const { return ""; }

  /// Looks for libraries by the names that bundles use, e.g. "cublas".
  virtual Libraries FindLibraries(const std::vector<std::string>& names) const {
    return {names.empty() ? "" : "needs " + names[0] + ": none for this device",
            {},
            {}};
  }

  /// The state of the device that a worker described; nothing if it cannot be
  /// read. Thread safe.
  virtual std::optional<ClockReading> ReadClocks(
      const std::string& /*device*/) const {
    return std::nullopt;
  }

  /// Registers, shared memory and spills from the compiler's output.
  virtual Resources ParseResources(const std::string& output) const = 0;
};

/// Both throw std::invalid_argument when no usable compiler is found, naming
/// the places that were searched. `compiler` "" means: find one.
std::unique_ptr<Toolchain> MakeCpuToolchain(const std::string& compiler);
std::unique_ptr<Toolchain> MakeCudaToolchain(const std::string& compiler);

/// The cuda device's with line numbers in its kernels, for compute-sanitizer.
std::unique_ptr<Toolchain> MakeLinesToolchain(const std::string& compiler);

/// Builds for the cpu device's checker (docs/cpu_device.md). `compiler` as
/// above, but it must be g++. Throws likewise.
std::unique_ptr<Toolchain> MakeCheckedToolchain(const std::string& compiler);

}  // namespace jaxkern

#endif  // JAXKERN_BACKENDS_TOOLCHAIN_H_
